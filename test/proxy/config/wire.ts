// Configurations as text for tests of the parser: good ones, and helpers to break them.
import { createHash } from 'node:crypto';
import { setImmediate as pause } from 'node:timers/promises';
import { parseConfig, type ParseOptions, type ParseResult } from '#proxy/config/parse.ts';
import type { ConfigItem, ProxyConfig, TunnelConfig } from '#proxy/config/schema.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import { config, prefix, route, rule } from '#test/proxy/table/build.ts';

export const sha256 = () => createHash('sha256');
export const options: ParseOptions = { sha256, pause };
const order = { epoch: 1, sequence: 2 };
export const tunnel: TunnelConfig = { kind: 'tunnel', id: 't', entry: 'shared', protocol: 'http2', token: 'very-secret-token' };
export const full: ProxyConfig = {
  ...config([route('a', { rules: [rule(prefix('/a'), prefix('/b')), rule()] }), route('b')]),
  tunnels: [tunnel],
};

/** Lines of any items, valid or not, with a header and an end that fit them. */
export function lines(items: readonly unknown[]): string[] {
  return [...serializeConfig(items as ConfigItem[], order, sha256).lines];
}

function* chunksOf(text: string | Uint8Array, size = 1 << 16): Generator<Uint8Array> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export function parse(text: string | Uint8Array, changes: Partial<ParseOptions> = {}, size?: number): Promise<ParseResult> {
  return parseConfig(chunksOf(text, size), { ...options, ...changes });
}
