// Configurations from the wire: whatever arrives is either a checked configuration or a named failure, in slices and never an exception.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_CONFIG_BYTES, MAX_LINE_BYTES, parseConfig, type ParseResult } from '#proxy/config/parse.ts';
import type { ProxyConfig } from '#proxy/config/schema.ts';
import { configItems } from '#proxy/config/serialize.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { entry, listener, prefix, route, rule, winner } from '#test/proxy/table/build.ts';
import { full, lines, options, parse, sha256, tunnel } from './wire.ts';

async function parsed(items: readonly unknown[]): Promise<Extract<ParseResult, { config: ProxyConfig }>> {
  const result = await parse(lines(items).join('\n'));
  assert.ok('config' in result, JSON.stringify(result));
  return result;
}

async function failure(text: string | Uint8Array): Promise<string> {
  const result = await parse(text);
  assert.ok('error' in result, 'it was accepted');
  assert.ok(!result.error.message.includes('secret'), result.error.message);
  return result.error.code;
}

test('what was serialised is read back, whatever the size of the chunks and with or without a last line break', async () => {
  const text = lines(configItems(full)).join('\n');
  for (const [size, end] of [
    [1, ''],
    [7, '\n'],
    [1 << 20, '\n'],
  ] as const) {
    const result = await parse(text + end, {}, size);
    assert.ok('config' in result, JSON.stringify(result));
    assert.deepEqual(result.config, full);
    assert.deepEqual(result.problems, []);
    assert.deepEqual([result.header.epoch, result.header.sequence], [1, 2]);
  }
});

test('text beyond ASCII survives chunks that cut it', async () => {
  const umlaut = { ...full, routes: [route('ü', { rules: [{ ...rule(), name: 'é😀' }] })] };
  const result = await parse(lines(configItems(umlaut)).join('\n'), {}, 3);
  assert.ok('config' in result);
  assert.deepEqual(result.config.routes, umlaut.routes);
});

test('an empty configuration is read', async () => {
  const nothing = { tunnels: [], certificates: [], entries: [], localEntries: [], backends: [], routes: [] };
  assert.deepEqual((await parsed([])).config, nothing);
});

const good = lines(configItems(full));
const [head = '', ...rest] = good;
const broken: readonly (readonly [title: string, text: string, code: string])[] = [
  ['nothing', '', 'incomplete'],
  ['line breaks alone', '\n\n\n', 'syntax'],
  ['a header alone', head, 'incomplete'],
  ['no end line', good.slice(0, -1).join('\n'), 'incomplete'],
  ['no header', rest.join('\n'), 'header'],
  ['no JSON', 'secret', 'syntax'],
  ['an array', '[1,2]', 'syntax'],
  ['null', 'null', 'syntax'],
  ['an item that is no JSON', [head, '{"kind":"tunnel","token":"secret', ...rest].join('\n'), 'syntax'],
  ['an empty line in the middle', [head, '', ...rest].join('\n'), 'syntax'],
  ['another format', head.replace('"format":1', '"format":2'), 'format'],
  ['a header without digest', '{"kind":"config","format":1,"epoch":1,"sequence":1}', 'header'],
  ['an epoch of 0', head.replace('"epoch":1', '"epoch":0'), 'header'],
  ['two headers', [head, ...good].join('\n'), 'item'],
  ['a missing item', [head, ...rest.slice(1)].join('\n'), 'end'],
  ['an end without count', [...good.slice(0, -1), '{"kind":"end"}'].join('\n'), 'end'],
  ['an empty line after the end', `${good.join('\n')}\n\n`, 'end'],
  ['lines after the end', [...good, '{}'].join('\n'), 'end'],
  [
    'another digest',
    good
      .join('\n')
      .replace(/"digest":"./, '"digest":"x')
      .replace('x', head.includes('"digest":"0') ? '1' : '0'),
    'digest',
  ],
  ['a changed item', good.join('\n').replace('10.0.0.1', '10.0.0.9'), 'digest'],
  ['an unknown kind', lines([{ kind: 'other', id: 'x' }]).join('\n'), 'item'],
  ['an item without id', lines([{ kind: 'backend', id: '' }]).join('\n'), 'item'],
  ['an endless id', lines([{ kind: 'backend', id: 'x'.repeat(5000) }]).join('\n'), 'item'],
  ['two items with one id', lines([...configItems(full), route('a')]).join('\n'), 'duplicate'],
  ['two entries with one port', lines([entry(), { ...entry(), id: 'other' }]).join('\n'), 'duplicate'],
  [
    'a route whose hostnames cannot be read',
    lines([{ ...route('a'), attachments: [{ entry: 'shared', listener: 'x' }] }]).join('\n'),
    'item',
  ],
  ['a route without rules', lines([{ ...route('a'), rules: 'none' }]).join('\n'), 'item'],
];

for (const [title, text, code] of broken) {
  test(`${title} refuse the whole with ${code}`, async () => {
    assert.equal(await failure(text), code);
  });
}

test('bytes that are not UTF-8 are refused', async () => {
  assert.equal(await failure(Buffer.concat([Buffer.from(`${head}\n{"kind":"`), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')])), 'syntax');
});

test('a line of 10 MiB is refused when the limit is reached, not when it ends', async () => {
  let read = 0;
  function* endless(): Generator<Uint8Array> {
    yield Buffer.from(`${head}\n`);
    for (; read < 10 << 20; read += 1 << 16) yield Buffer.alloc(1 << 16, 0x61);
  }
  const result = await parseConfig(endless(), options);
  assert.ok('error' in result);
  assert.equal(result.error.code, 'too-large');
  assert.ok(read <= MAX_LINE_BYTES + (1 << 16));
});

test('a line of 10 MiB is refused when it arrives as a whole, too', async () => {
  const result = await parseConfig([Buffer.from(`${head}\n{"kind":"backend","id":"b","name":"${'x'.repeat(10 << 20)}"}\n`)], options);
  assert.equal('error' in result && result.error.code, 'too-large');
});

test('a configuration beyond the total limit is refused, and one of 64 MiB is read', async () => {
  const name = 'x'.repeat(1 << 20);
  function* backends(count: number): Generator<string> {
    for (let i = 0; i < count; i++) yield `{"kind":"backend","id":"${i}","name":"${name}","protocol":"http1","endpoints":[]}`;
  }
  const hash = sha256();
  let index = 0;
  for (const line of backends(64)) hash.update(index++ === 0 ? line : `\n${line}`);
  function* source(count: number): Generator<Uint8Array> {
    yield Buffer.from(`${JSON.stringify({ kind: 'config', format: 1, epoch: 1, sequence: 1, digest: hash.copy().digest('hex') })}\n`);
    for (const line of backends(count)) yield Buffer.from(`${line}\n`);
    yield Buffer.from(`{"kind":"end","items":${count}}`);
  }
  assert.ok('config' in (await parseConfig(source(64), options)));
  const tooLarge = await parseConfig(source(MAX_CONFIG_BYTES >> 20), options);
  assert.equal('error' in tooLarge && tooLarge.error.code, 'too-large');
});

test('a source that fails is a configuration that was cut off', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${head}\n`);
    throw new Error('secret');
  }
  const result = await parseConfig(failing(), options);
  assert.deepEqual('error' in result && result.error.code, 'incomplete');
});

test('a header that is not wanted ends the reading, and leaves the source open for the answer', async () => {
  let closed = false;
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from(`${head}\n`);
      yield Buffer.from('never read');
    } finally {
      closed = true;
    }
  }
  const result = await parseConfig(source(), { ...options, admit: ({ epoch, sequence }) => `(${epoch}, ${sequence}) is not newer` });
  assert.deepEqual(result, { error: { code: 'refused', message: '(1, 2) is not newer' } });
  assert.equal(closed, false);
});

test('a backend that cannot be read is put aside and its share of traffic closed', async () => {
  const { config, problems } = await parsed([{ kind: 'backend', id: 'b', name: 1 }, entry(listener()), route('a')]);
  assert.deepEqual(config.backends, []);
  assert.deepEqual(config.routes[0]?.rules[0]?.backends, [{ weight: 1, status: 500 }]);
  assert.deepEqual(
    problems.map(({ item, field }) => [item, field]),
    [
      ['b', 'name'],
      ['HTTPRoute/default/a', 'rules[0].backends[0].backend'],
    ],
  );
  assert.deepEqual(compileTable(config).problems, [], 'what was put aside is not reported twice');
});

test('a rule that cannot be read is closed where its matches can be, and the other rules go on', async () => {
  const bad = { matches: [{ path: { type: 'PathPrefix', value: '/bad' } }, { path: { type: 'Fuzzy', value: '/x' } }], backends: 'none' };
  const { config, problems } = await parsed([
    ...configItems(full).filter(({ kind }) => kind !== 'route'),
    { ...route('a'), rules: [bad, rule(prefix('/good'))] },
  ]);
  const table = compileTable(config);
  assert.equal(winner(table, { path: '/bad' }), 'a[0]');
  assert.equal(config.routes[0]?.rules[0]?.error?.status, 500);
  assert.equal(winner(table, { path: '/good' }), 'a[1]');
  assert.equal(winner(table, { path: '/x' }), 'none');
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.field ?? '', /^rules\[0\]\./);
});

test('an entry that cannot be read takes its tunnel and its attachments along', async () => {
  const { config, problems } = await parsed([{ ...entry(), port: 0 }, tunnel, route('a')]);
  assert.deepEqual([config.entries, config.tunnels, config.routes[0]?.attachments], [[], [], []]);
  assert.deepEqual(
    problems.map(({ field }) => field),
    ['port', 'entry', 'attachments[0]', 'rules[0].backends[0].backend'],
  );
});

test('an attachment to a listener that is not there is left out', async () => {
  const { config, problems } = await parsed([
    entry(listener()),
    { ...tunnel, token: undefined },
    route('a', { listeners: [listener(), listener({ port: 1 })] }),
  ]);
  assert.equal(config.routes[0]?.attachments.length, 1);
  assert.deepEqual(
    problems.map(({ field }) => field),
    ['attachments[1]', 'rules[0].backends[0].backend'],
  );
});

test('problems and failures never show what a bad item contains', async () => {
  const { problems } = await parsed([
    entry(),
    { ...tunnel, protocol: 'secret', token: { secret: 'secret' } },
    { kind: 'backend', id: 'b', name: ['secret'] },
  ]);
  assert.equal(problems.length, 2);
  assert.ok(!JSON.stringify(problems).includes('secret'));
});

test('100,000 lines are read in slices', async () => {
  const backends = Array.from({ length: 100_000 }, (_, i) => `{"kind":"backend","id":"${i}","name":"n","protocol":"http1","endpoints":[]}`);
  const digest = sha256().update(backends.join('\n')).digest('hex');
  const text = [
    JSON.stringify({ kind: 'config', format: 1, epoch: 1, sequence: 1, digest }),
    ...backends,
    '{"kind":"end","items":100000}',
  ].join('\n');
  let pauses = 0;
  const result = await parse(text, { pause: () => Promise.resolve(pauses++) });
  assert.ok('config' in result);
  assert.equal(result.config.backends.length, 100_000);
  assert.ok(pauses > text.length / (64 * 1024), `${pauses} pauses`);
});

test('100,000 bad items leave a bounded list of problems', async () => {
  const bad = Array.from({ length: 100_000 }, (_, i) => `{"kind":"backend","id":"${i}"}`);
  const digest = sha256().update(bad.join('\n')).digest('hex');
  const result = await parse(
    [JSON.stringify({ kind: 'config', format: 1, epoch: 1, sequence: 1, digest }), ...bad, '{"kind":"end","items":100000}'].join('\n'),
  );
  assert.ok('config' in result && result.problems.length <= 100);
});

test('deep nesting is no problem', async () => {
  const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
  assert.equal(await failure(`${head}\n${deep}\n`), 'syntax');
  assert.equal(await failure(`${head}\n{"kind":"backend","id":"b","x":${deep}}\n`), 'incomplete');
});
