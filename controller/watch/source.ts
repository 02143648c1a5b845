// What the reconcile loop needs of a place where objects come from: the Kubernetes API or a folder of YAML.
import type { WantedObjects } from '#controller/api/plan.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';

/** Something that keeps objects out of the snapshot, in words for the person who can mend it. Never holds data of a Secret. */
export interface SourceProblem {
  /** `file:line` in a folder, `Kind` or `Kind namespace/name` in a cluster. */
  readonly where: string;
  readonly message: string;
}

export interface Source {
  /** Begins to fill the snapshot; does not wait until it is complete. */
  start(): Promise<void> | void;
  /** The newest picture; the same (===) snapshot as long as nothing changed. */
  snapshot(): Snapshot;
  /**
   * True when every kind, and every object asked for by `want`, has been read once or is known to be absent. Nothing may act on a snapshot before:
   * what is merely unread would look deleted.
   */
  readonly synced: boolean;
  /** Called after each change of the snapshot, of `synced` or of the problems; returns the function that ends it. Listeners only take note. */
  onChange(listener: () => void): () => void;
  /** Replaces the set of Secrets and ConfigMaps that the snapshot should hold. */
  want(wanted: WantedObjects): void;
  /** Ends everything that was started; resolves when nothing is left running. */
  stop(): Promise<void>;
  problems(): readonly SourceProblem[];
}
