// Tells whoever is interested that something changed; what it is, they look up themselves.
export class Changes {
  readonly #listeners = new Set<() => void>();

  /** Calls `listener` at each change until `signal` aborts. */
  subscribe(listener: () => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#listeners.add(listener);
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true });
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves at the next change, or when `signal` aborts. Ask before looking, or the change in between is missed. */
  next(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) return Promise.resolve();
    const done = (): void => {
      this.#listeners.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    this.#listeners.add(done);
    signal.addEventListener('abort', done);
    return promise;
  }
}
