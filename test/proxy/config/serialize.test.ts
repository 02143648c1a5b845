// Configurations on the wire: one form for equal configurations.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { ConfigItem } from '#proxy/config/schema.ts';
import { configItems, serializeConfig } from '#proxy/config/serialize.ts';
import { config, entry, listener, route } from '#test/proxy/table/build.ts';

const sha256 = () => createHash('sha256');
const items = configItems(config([route('b'), route('a'), route('c', { type: 'GRPC' })], [entry(listener())]));

test('lines are the header, the items by kind and id, and the end', () => {
  const lines = [...serializeConfig(items, { epoch: 3, sequence: 7 }, sha256).lines].map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
  assert.deepEqual(
    lines.map(({ kind, id, items }) => id ?? items ?? kind),
    ['config', 'b', 'shared', 'GRPCRoute/default/c', 'HTTPRoute/default/a', 'HTTPRoute/default/b', 5],
  );
});

test('the digest is that of the item lines joined by line breaks', () => {
  const { header, lines } = serializeConfig(items, { epoch: 3, sequence: 7 }, sha256);
  assert.equal(
    header.digest,
    sha256()
      .update([...lines].slice(1, -1).join('\n'))
      .digest('hex'),
  );
  assert.equal(JSON.parse([...lines][0]!).digest, header.digest);
  assert.equal([...lines].length, [...lines].length, 'lines can be iterated again');
});

test('neither the order of items nor that of properties, nor epoch and sequence, change the digest', () => {
  const reversed = JSON.parse(JSON.stringify(items), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).reverse()) : value,
  ) as ConfigItem[];
  const one = serializeConfig(items, { epoch: 1, sequence: 1 }, sha256);
  const other = serializeConfig(reversed.reverse(), { epoch: 2, sequence: 9 }, sha256);
  assert.equal(other.header.digest, one.header.digest);
  assert.deepEqual([...other.lines].slice(1), [...one.lines].slice(1));
});

test('any change of an item changes the digest', () => {
  const before = serializeConfig(items, { epoch: 1, sequence: 1 }, sha256).header.digest;
  const changed = items.map((item) => (item.kind === 'backend' ? { ...item, endpoints: ['10.0.0.2:8080'] } : item));
  assert.notEqual(serializeConfig(changed, { epoch: 1, sequence: 1 }, sha256).header.digest, before);
});

test('no configuration is a configuration', () => {
  const { header, lines } = serializeConfig([], { epoch: 1, sequence: 1 }, sha256);
  assert.equal(header.digest, sha256().digest('hex'));
  assert.equal([...lines].length, 2);
});
