// Whatever bytes arrive: a failure with a name or a configuration that can be compiled, never an exception.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { configItems } from '#proxy/config/serialize.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { listener } from '#test/proxy/table/build.ts';
import { full, lines, parse } from './wire.ts';

const good = lines(configItems(full));

test('random bytes are a failure', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), fc.integer({ min: 1, max: 500 }), async (bytes, size) => {
      assert.ok('error' in (await parse(bytes, {}, size)));
    }),
    { numRuns: 200 },
  );
});

test('a configuration that is cut, repeated in part or changed in places is refused, or says the same', async () => {
  const text = Buffer.from(good.join('\n'));
  const change = fc.record({
    at: fc.nat(text.length - 1),
    end: fc.nat(text.length - 1),
    kind: fc.constantFrom('cut', 'drop', 'repeat', 'flip'),
    byte: fc.nat(255),
  });
  await fc.assert(
    fc.asyncProperty(change, async ({ at, end, kind, byte }) => {
      const [from, to] = at < end ? [at, end] : [end, at];
      const changed = Buffer.from(text);
      if (kind === 'flip') changed[at] = byte;
      const result = await parse(
        kind === 'cut'
          ? text.subarray(0, at)
          : kind === 'flip'
            ? changed
            : Buffer.concat([text.subarray(0, kind === 'drop' ? from : to), text.subarray(kind === 'drop' ? to : from)]),
      );
      if ('config' in result) assert.deepEqual(result.config, full);
    }),
    { numRuns: 300 },
  );
});

test('items of random JSON never throw, and what is kept can be compiled', async () => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('shared', 'b', listener().id, 'HTTP', []));
  const item = fc
    .tuple(
      fc.constantFrom(...configItems(full)),
      fc.array(
        fc.tuple(
          fc.constantFrom('name', 'port', 'endpoints', 'rules', 'attachments', 'listeners', 'entry', 'protocol', 'type', 'created'),
          value,
        ),
        { maxLength: 2 },
      ),
    )
    .map(([base, changes]) => ({ ...base, ...Object.fromEntries(changes) }));
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(item, { maxLength: 5, selector: ({ kind, id }) => `${kind} ${id}` }), async (items) => {
      const result = await parse(lines(items).join('\n'));
      if ('config' in result) assert.deepEqual(compileTable(result.config).problems, []);
    }),
    { numRuns: 300 },
  );
});
