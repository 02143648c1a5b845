// One row of the tables of objects that a real API server takes or refuses: two judges, that server and our folder source, share them.

export interface Vector {
  readonly name: string;
  readonly yaml: string;
  /** The field that is wrong, as both judges must name it; absent when the object is taken. */
  readonly wrong?: string;
}

export const taken = (name: string, yaml: string): Vector => ({ name, yaml });
export const refused = (name: string, wrong: string, yaml: string): Vector => ({ name, yaml, wrong });
