// Waits for conditions that are looked at whenever something has happened, and no longer than there is hope.

export interface Patience {
  /** Nothing has happened for so long, ms: nothing will. */
  readonly quietMs: number;
  /** In any case, ms. */
  readonly limitMs: number;
}

export class Happenings {
  readonly #listeners = new Set<() => void>();

  /** Something has changed. */
  happened(): void {
    for (const listener of this.#listeners) listener();
  }

  /** True once the condition holds, false when it is waited for in vain. */
  until(holds: () => boolean, { quietMs, limitMs }: Patience): Promise<boolean> {
    if (holds()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const done = (result: boolean): void => {
        clearTimeout(quiet);
        clearTimeout(limit);
        this.#listeners.delete(look);
        resolve(result);
      };
      const look = (): void => {
        if (holds()) done(true);
        else quiet.refresh();
      };
      const quiet = setTimeout(() => done(false), quietMs);
      const limit = setTimeout(() => done(false), limitMs);
      this.#listeners.add(look);
    });
  }
}
