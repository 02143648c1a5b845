// Holds the tunnel document in force and takes newer ones, as one process-wide state shared by all connections.
import { z } from 'zod';
import { EMPTY_DOCUMENT, parseDocument, type TunnelDocument } from './ingress.ts';

const pushSchema = z.object({
  version: z
    .int()
    .min(-(2 ** 31))
    .max(2 ** 31 - 1),
  config: z.unknown(),
});

/** What the edge is told after a push: the version in force, and an error if the pushed one was refused. */
export interface PushAnswer {
  readonly lastAppliedVersion: number;
  readonly err: string | null;
}

export class DocumentStore {
  #version = -1;
  #document: TunnelDocument;
  readonly #onApplied: (document: TunnelDocument) => void;

  constructor(initial: TunnelDocument | null, onApplied: (document: TunnelDocument) => void) {
    this.#document = initial ?? EMPTY_DOCUMENT;
    this.#onApplied = onApplied;
  }

  get document(): TunnelDocument {
    return this.#document;
  }

  /** Starts at -1, so that the first remote version, 0, is taken. */
  get version(): number {
    return this.#version;
  }

  /** Takes the JSON of a push. Versions only rise: an older or equal one is left alone, which is no error. */
  push(json: string): PushAnswer {
    const message = pushSchema.safeParse(parseJson(json));
    if (!message.success) return this.#answer('the push is no JSON object with version and config');
    const { version, config } = message.data;
    if (version <= this.#version) return this.#answer(null);
    const parsed = parseDocument(config);
    if ('error' in parsed) return this.#answer(parsed.error);
    this.#version = version;
    this.#document = parsed.document;
    this.#onApplied(parsed.document);
    return this.#answer(null);
  }

  #answer(err: string | null): PushAnswer {
    return { lastAppliedVersion: this.#version, err };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
