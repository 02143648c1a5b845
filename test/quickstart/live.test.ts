// While it runs: edits change traffic and are told, mistakes are explained while the last good state serves, the printed lines work.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { curlAbilities } from '../../examples/curl.ts';
import { copyOfExample, QuickStart, type Ending } from './rig.ts';

const run = promisify(execFile);
const curl = curlAbilities();

/** What each printed line must bring back. */
const shown: Readonly<Record<string, readonly RegExp[]>> = {
  'GET https://app.example.com/hello': [/"path": "\/hello"/, /"x-forwarded-proto": "https"/],
  'GET https://app.example.com/api/users?page=2': [/^HTTP\/[\d.]+ 200/, /^x-served-by: quickstart\r$/im, /"path": "\/users\?page=2"/],
  'GET https://app.example.com/old/page': [/^HTTP\/[\d.]+ 301/, /^location: https:\/\/app\.example\.com:\d+\/new\/page\r$/im],
  'POST https://app.example.com/upload (1 MiB)': [/^received 1048576 bytes\n$/],
  'GET https://app.example.com/events (SSE)': [/^data: event 1\n\n(data: event \d\n\n){3}data: event 5\n\n$/],
  'WebSocket wss://app.example.com/': [/^HTTP\/1\.1 101/, /welcome: every message comes back$/],
  'gRPC grpc.example.com demo.Greeter/Hello, HelloStream': [/^Hello, world!\n$/],
  'GET https://app.example.com/hello, X-Forwarded-For forged': [/"x-forwarded-for": "127\.0\.0\.1"/],
  'GET https://unknown.example.com/': [/^HTTP\/[\d.]+ 404/],
};

/** One instance for all tests of this file. */
let quickstart: QuickStart;
let dir: string;
const cleanups: (() => unknown)[] = [];

before(
  async () => {
    const context: Ending = { after: (cleanup) => cleanups.push(cleanup) };
    quickstart = new QuickStart(context, { args: ['--dir', copyOfExample(context)] });
    dir = await quickstart.isReady();
  },
  { timeout: 60_000 },
);
after(async () => {
  quickstart.showsNoSecret();
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const read = (file: string): string => readFileSync(path.join(dir, file), 'utf8');
const write = (file: string, text: string): void => writeFileSync(path.join(dir, file), text);
const edit = (file: string, from: string, to: string): void => {
  const text = read(file);
  assert.ok(text.includes(from), `${file} has no ${from}`);
  write(file, text.replace(from, to));
};
const servedBy = async (): Promise<unknown> => (await quickstart.get('app.example.com', '/api/x')).headers['x-served-by'];

const route = (name: string, host: string): string => `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name}, namespace: tenant-example }
spec:
  parentRefs: [{ name: tunnel }]
  hostnames: [${host}]
  rules: [{ backendRefs: [{ name: app, port: 80 }] }]
`;

test(
  'the curl lines',
  { skip: curl.isInstalled ? false : 'curl is not installed', timeout: 60_000, concurrency: true },
  async (context) => {
    const lines = new Map([...quickstart.output.matchAll(/^ {2}# (.+?): .*\n {2}(.+)$/gm)].map(([, sent = '', line = '']) => [sent, line]));
    assert.deepEqual([...lines.keys()], Object.keys(shown));
    const tests = [...lines].map(([sent, line]) => {
      const skip = sent.startsWith('gRPC') && !curl.hasHttp2 ? 'this curl has no HTTP/2' : false;
      return context.test(`curl: ${sent}`, { skip }, async () => {
        // Curl says by its exit code that it was its own time limit that ended the WebSocket.
        const { stdout } = await run('sh', ['-c', line], { encoding: 'utf8' }).catch((error: { code: unknown; stdout: string }) => {
          if (error.code !== 28 || !sent.startsWith('WebSocket')) throw error;
          return error;
        });
        for (const pattern of shown[sent] ?? []) assert.match(stdout, pattern);
      });
    });
    await Promise.all(tests);
  },
);

test('an edit changes traffic, and what changed is told', { timeout: 60_000 }, async () => {
  edit('20-app.yaml', 'value: quickstart', 'value: edited');
  await quickstart.says(/^\u2022 changed: HTTPRoute tenant-example\/app\n/m);
  await quickstart.says(/^\u2713 the proxy serves by it: 2 routes, 4 rules\n/m);
  assert.equal(await servedBy(), 'edited');
});

test('another hostname: the new table of ingress rules', { timeout: 60_000 }, async () => {
  edit('20-app.yaml', '- app.example.com\n', '- app.example.com\n    - shop.example.com\n');
  await quickstart.says(
    /^\u2713 ingress rules are now:\n.*\n +app\.example\.com .*\n +grpc\.example\.com .*\n +shop\.example\.com .*\n +\(any other\) .*\n/m,
  );
});

test('mistakes are told with their place while the last good state serves; so is mending', { timeout: 60_000 }, async () => {
  const good = read('20-app.yaml');
  write('20-app.yaml', good.replace('  rules:', ' rules: ['));
  await quickstart.says(/^\u2717 20-app\.yaml:\d+:\d+: .*in use\n +The last good state keeps serving\.\n/m);
  assert.equal(await servedBy(), 'edited');
  write('20-app.yaml', good.replace('- backendRefs:', '- backendRef:').replace('value: edited', 'value: again'));
  await quickstart.says(
    /^\u2717 20-app\.yaml:\d+:\d+: HTTPRoute tenant-example\/app: .*did you mean "backendRefs"\?; its last good version stays in use\n/m,
  );
  assert.equal(await servedBy(), 'edited');
  const told = quickstart.output.length;
  write('20-app.yaml', good);
  await quickstart.says(/^\u2713 the problem with 20-app\.yaml is solved\n/m);
  assert.equal(quickstart.output.slice(0, told).includes('is solved'), false, 'a mistake that moves is not mended');
});

test('a hostname of somebody else is refused with the reason; without the file the route is gone', { timeout: 60_000 }, async () => {
  write('40-foreign.yaml', route('foreign', 'www.evil.test'));
  await quickstart.says(/^\u2022 added: HTTPRoute tenant-example\/foreign\n/m);
  await quickstart.says(
    /^\u2717 HTTPRoute tenant-example\/foreign\n +Accepted=False \(HostnameNotPermitted: .*www\.evil\.test.*example\.com/m,
  );
  rmSync(path.join(dir, '40-foreign.yaml'));
  await quickstart.says(/^\u2022 removed: HTTPRoute tenant-example\/foreign\n/m);
});

test('a new file adds a route, a second one of the same name does not count', { timeout: 60_000 }, async () => {
  write('40-new.yaml', route('new', 'new.example.com'));
  await quickstart.says(/^ +new\.example\.com +http/m);
  assert.equal((await quickstart.get('new.example.com', '/')).status, 200);
  write('50-twice.yaml', route('new', 'twice.example.com'));
  await quickstart.says(/^\u2717 50-twice\.yaml:1:1: HTTPRoute tenant-example\/new: is defined already in 40-new\.yaml:1, which counts/m);
  assert.equal((await quickstart.get('new.example.com', '/')).status, 200);
  assert.equal((await quickstart.get('twice.example.com', '/')).status, 404);
  rmSync(path.join(dir, '50-twice.yaml'));
  await quickstart.says(/^\u2713 the problem with 50-twice\.yaml is solved\n/m);
});

test('another quick start beside it takes other ports', { timeout: 60_000 }, async (context) => {
  const other = new QuickStart(context, { args: ['--once'] });
  assert.equal(await other.ended, 'exit code 0', other.output);
  const ports = ({ output }: QuickStart): readonly string[] =>
    /application on (\S+), a gRPC service on (\S+)\n/.exec(output)?.slice(1) ?? [];
  for (const port of ports(other)) assert.ok(!ports(quickstart).includes(port), port);
  assert.equal((await quickstart.get('app.example.com', '/hello')).status, 200);
});
