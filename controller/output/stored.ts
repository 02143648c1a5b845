// Reading a stored status, which anybody may have written: whatever is there, fields and lists of fields come out.

export type Fields = Readonly<Record<string, unknown>>;

export const asFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const asList = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(asFields) : []);
