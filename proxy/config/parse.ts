// A pushed configuration, from bytes of any size and quality to a checked `ProxyConfig`: in slices, and never by an exception.
import { describe, identify, readItem, type ItemProblem } from './item.ts';
import { LineSplitter } from './lines.ts';
import { referenceSteps } from './references.ts';
import { CONFIG_FORMAT, endSchema, headerSchema, type ConfigHeader, type ConfigItem, type ProxyConfig } from './schema.ts';
import type { Sha256 } from './serialize.ts';

/** Longest line, in bytes. One item is read in one go: 4 MiB take some tens of milliseconds. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024;
/** Longest configuration, in bytes. */
export const MAX_CONFIG_BYTES = 128 * 1024 * 1024;
/** Problems that are kept; of the rest only the number would be of interest. */
const MAX_PROBLEMS = 100;
/** Bytes of lines that are read before others get their turn: about a millisecond. */
const SLICE_BYTES = 32 * 1024;

type ParseCode =
  /** Longer than the limits allow. */
  | 'too-large'
  /** Bytes that are no lines of JSON objects. */
  | 'syntax'
  /** A format of another version. */
  | 'format'
  | 'header'
  /** An item that cannot be put aside safely. */
  | 'item'
  | 'duplicate'
  /** A wrong number of items, or lines after the end. */
  | 'end'
  | 'digest'
  /** Cut off before its end. */
  | 'incomplete'
  /** Not wanted by `admit`. */
  | 'refused';

interface ParseFailure {
  readonly code: ParseCode;
  /** A sentence for logs and answers, with the line where that helps; no values of the configuration. */
  readonly message: string;
}

export type ParseResult =
  | { readonly header: ConfigHeader; readonly config: ProxyConfig; readonly problems: readonly ItemProblem[] }
  | { readonly error: ParseFailure };

export interface ParseOptions {
  readonly sha256: () => Sha256;
  /** Resolves after other events have had their turn, as setImmediate of node:timers/promises does. */
  readonly pause: () => Promise<unknown>;
  /** Looks at the header before anything else is read. A message says why the configuration is not wanted, null that it is. */
  readonly admit?: (header: ConfigHeader) => string | null;
}

/**
 * Reads a whole configuration. Stops reading at the first failure and leaves the source open, so that a sender who is still sending can be
 * answered. A source that throws counts as cut off.
 */
export async function parseConfig(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: ParseOptions): Promise<ParseResult> {
  const reader = new ConfigReader(options);
  const failure = await readLines(chunks, reader, options.pause);
  if (failure !== null) return { error: failure };
  return reader.finish(options.pause);
}

async function readLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  reader: ConfigReader,
  pause: () => Promise<unknown>,
): Promise<ParseFailure | null> {
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  const source = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  let total = 0;
  let slice = 0;
  for (;;) {
    const chunk = await nextChunk(source);
    if (chunk === 'failed') return { code: 'incomplete', message: 'the configuration was cut off while it was received' };
    if (chunk === 'ended') {
      // Nothing after the last line break is no line.
      const rest = splitter.rest();
      return rest?.length === 0 ? null : reader.line(rest);
    }
    total += chunk.length;
    if (total > MAX_CONFIG_BYTES) return { code: 'too-large', message: `the configuration is longer than ${MAX_CONFIG_BYTES} bytes` };
    for (const line of splitter.push(chunk)) {
      const failure = reader.line(line);
      if (failure !== null) return failure;
      // An empty line costs something too.
      slice += 64 + (line?.length ?? 0);
      if (slice < SLICE_BYTES) continue;
      slice = 0;
      await pause();
    }
  }
}

async function nextChunk(source: AsyncIterator<Uint8Array> | Iterator<Uint8Array>): Promise<Uint8Array | 'ended' | 'failed'> {
  try {
    const { done, value } = await source.next();
    return done === true ? 'ended' : value;
  } catch {
    return 'failed';
  }
}

/** Takes lines one by one. */
class ConfigReader {
  readonly #options: ParseOptions;
  readonly #hash: Sha256;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #ids = new Set<string>();
  readonly #items: { readonly [Kind in ConfigItem['kind']]: Extract<ConfigItem, { kind: Kind }>[] } = {
    tunnel: [],
    certificate: [],
    entry: [],
    localEntry: [],
    backend: [],
    route: [],
  };
  readonly #problems: ItemProblem[] = [];
  #header: ConfigHeader | null = null;
  #line = 0;
  #count = 0;
  #announced: number | null = null;

  constructor(options: ParseOptions) {
    this.#options = options;
    this.#hash = options.sha256();
  }

  /** The next line, or null for one that was too long. */
  line(bytes: Uint8Array | null): ParseFailure | null {
    this.#line++;
    if (bytes === null) return { code: 'too-large', message: `line ${this.#line} is longer than ${MAX_LINE_BYTES} bytes` };
    if (this.#announced !== null) return { code: 'end', message: `line ${this.#line} comes after the end` };
    const value = this.#decode(bytes);
    if (value === null) return { code: 'syntax', message: `line ${this.#line} is not a JSON object in UTF-8` };
    if (this.#header === null) return this.#readHeader(value);
    if ('kind' in value && value.kind === 'end') return this.#readEnd(value);
    if (this.#count++ > 0) this.#hash.update('\n');
    this.#hash.update(bytes);
    return this.#readItem(value);
  }

  /** Called when there are no more lines. */
  async finish(pause: () => Promise<unknown>): Promise<ParseResult> {
    const header = this.#header;
    if (header === null || this.#announced === null) {
      return {
        error: { code: 'incomplete', message: header === null ? 'the configuration is empty' : 'the configuration has no end line' },
      };
    }
    if (this.#announced !== this.#count) {
      return { error: { code: 'end', message: `the end line announces ${this.#announced} items, but there are ${this.#count}` } };
    }
    const digest = this.#hash.digest('hex');
    if (digest !== header.digest) return { error: { code: 'digest', message: 'the digest of the items is not that of the header' } };
    const config = this.#config();
    const samePort = repeated([...config.entries, ...config.localEntries].map(({ port }) => port));
    if (samePort !== null) return { error: { code: 'duplicate', message: `two entries have port ${samePort}` } };
    const steps = referenceSteps(config);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) await pause();
    return { header, config: step.value.config, problems: [...this.#problems, ...step.value.problems].slice(0, MAX_PROBLEMS) };
  }

  #config(): ProxyConfig {
    const { tunnel, certificate, entry, localEntry, backend, route } = this.#items;
    return { tunnels: tunnel, certificates: certificate, entries: entry, localEntries: localEntry, backends: backend, routes: route };
  }

  /** JSON.parse quotes its input in errors, and the input may hold tokens: what exactly is wrong is not passed on. */
  #decode(bytes: Uint8Array): object | null {
    try {
      const value: unknown = JSON.parse(this.#decoder.decode(bytes));
      return typeof value === 'object' && !Array.isArray(value) ? value : null;
    } catch {
      return null;
    }
  }

  #readHeader(value: object): ParseFailure | null {
    if ('format' in value && typeof value.format === 'number' && value.format !== CONFIG_FORMAT) {
      return { code: 'format', message: `the configuration has format ${value.format}, this proxy reads format ${CONFIG_FORMAT}` };
    }
    const header = headerSchema.safeParse(value);
    if (!header.success) return { code: 'header', message: `line ${this.#line} is not a header: ${describe(header.error)}` };
    const unwanted = this.#options.admit?.(header.data) ?? null;
    if (unwanted !== null) return { code: 'refused', message: unwanted };
    this.#header = header.data;
    return null;
  }

  #readEnd(value: object): ParseFailure | null {
    const end = endSchema.safeParse(value);
    if (!end.success) return { code: 'end', message: `line ${this.#line} is not an end line: ${describe(end.error)}` };
    this.#announced = end.data.items;
    return null;
  }

  #readItem(value: object): ParseFailure | null {
    const identity = identify(value);
    if (identity === null) return { code: 'item', message: `line ${this.#line} has no id or a kind that this proxy does not know` };
    const { kind, id } = identity;
    const key = `${kind} ${id}`;
    if (this.#ids.has(key)) return { code: 'duplicate', message: `line ${this.#line}: ${kind} ${JSON.stringify(id)} occurs twice` };
    this.#ids.add(key);
    const result = readItem(value, identity);
    if ('refused' in result)
      return { code: 'item', message: `line ${this.#line}: ${kind} ${JSON.stringify(id)} is invalid: ${result.refused}` };
    if (result.item !== null) this.#keep(result.item);
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(...result.problems);
    return null;
  }

  #keep(item: ConfigItem): void {
    if (item.kind === 'tunnel') this.#items.tunnel.push(item);
    else if (item.kind === 'certificate') this.#items.certificate.push(item);
    else if (item.kind === 'entry') this.#items.entry.push(item);
    else if (item.kind === 'localEntry') this.#items.localEntry.push(item);
    else if (item.kind === 'backend') this.#items.backend.push(item);
    else this.#items.route.push(item);
  }
}

/** The first that occurs a second time. */
function repeated(values: readonly number[]): number | null {
  const seen = new Set<number>();
  return values.find((value) => seen.has(value) || !seen.add(value)) ?? null;
}
