// A configuration as it goes over the wire: NDJSON, in one order for equal configurations, so that equal ones have equal digests.
import { CONFIG_FORMAT, type ConfigHeader, type ConfigItem, type ProxyConfig } from './schema.ts';

/** Incremental SHA-256; `createHash('sha256')` of node:crypto is one. */
export interface Sha256 {
  update(data: string | Uint8Array): unknown;
  digest(encoding: 'hex'): string;
}

export interface SerializedConfig {
  readonly header: ConfigHeader;
  /** All lines without their line breaks: header, items, end. May be iterated again. */
  readonly lines: Iterable<string>;
}

/**
 * Serialises items in any order. The digest covers the item lines alone: it stays the same under another epoch or sequence. Items are written
 * once and remembered by identity, so an item that is the same object as last time costs a look-up.
 */
export function serializeConfig(
  items: Iterable<ConfigItem>,
  order: { readonly epoch: number; readonly sequence: number },
  sha256: () => Sha256,
): SerializedConfig {
  const lines = [...items].sort(byKindAndId).map(lineOf);
  const hash = sha256();
  lines.forEach((line, index) => hash.update(index === 0 ? line : `\n${line}`));
  const header: ConfigHeader = {
    kind: 'config',
    format: CONFIG_FORMAT,
    epoch: order.epoch,
    sequence: order.sequence,
    digest: hash.digest('hex'),
  };
  return { header, lines: [JSON.stringify(header), ...lines, JSON.stringify({ kind: 'end', items: lines.length })] };
}

/** The items of a configuration in memory. */
export function configItems(config: ProxyConfig): readonly ConfigItem[] {
  const { tunnels, entries, certificates, localEntries, backends, routes } = config;
  return [...tunnels, ...entries, ...certificates, ...localEntries, ...backends, ...routes];
}

function byKindAndId(a: ConfigItem, b: ConfigItem): number {
  return compareText(a.kind, b.kind) || compareText(a.id, b.id);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const written = new WeakMap<ConfigItem, string>();

function lineOf(item: ConfigItem): string {
  let line = written.get(item);
  if (line === undefined) written.set(item, (line = JSON.stringify(item, sortedKeys)));
  return line;
}

/** Properties in alphabetical order: two builders of equal items need not agree on theirs. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => compareText(a, b)));
}
