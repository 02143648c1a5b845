// Where desired statuses go: the API server, or the terminal and a folder when there is no cluster.
import type { StatusUpdate } from '#controller/api/plan.ts';

export interface StatusSink {
  /**
   * Takes the statuses that objects should have; a newer one for the same object replaces an older one that is still waiting.
   * Resolves when each has been tried once. What failed is tried again in the background; never rejects.
   */
  apply(updates: readonly StatusUpdate[]): Promise<void>;
  /** Ends retries and waits for writes in flight. */
  stop(): Promise<void>;
}
