// Processes that are started with nonsense: they end with one clear line for each mistake, or say what they do without.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { eventually } from '#test/kube/eventually.ts';
import { get } from './network.ts';
import { Program } from './program.ts';
import { Secrets } from './secrets.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-start-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const secrets = new Secrets();
const secret = randomBytes(24).toString('hex');
secrets.add('secret', secret);

const file = (name: string, content: string | Buffer): string => {
  const whole = path.join(folder, name);
  mkdirSync(path.dirname(whole), { recursive: true });
  writeFileSync(whole, content);
  return whole;
};

const ENDPOINT = '--proxy-endpoints=http://127.0.0.1:1/config';
const LOOPBACK = ['--health-addr=127.0.0.1:0', '--metrics-addr=127.0.0.1:0', `--state-dir=${path.join(folder, 'state')}`];
const kubeconfig = file('kubeconfig', `users: [{name: u, user: {token: ${secret}}}}\n  bad: [`);

test('what a process cannot start with is said, by the name of the flag or variable', async () => {
  const cases: readonly (readonly [Program, RegExp])[] = [
    [new Program('controller', [], {}), /^--proxy-endpoints: is required/],
    [
      new Program('controller', [ENDPOINT, '--proxy-auth-tokn', secret], {}),
      /^--proxy-auth-tokn is not a flag .*\nargument 3 is not a flag/,
    ],
    [
      new Program('controller', [ENDPOINT], { CF_PROXY_AUTH_TOKEN: `${secret} ${secret}` }),
      /^--proxy-auth-token: holds characters that no HTTP header carries/,
    ],
    [
      new Program('controller', [ENDPOINT, ...LOOPBACK, `--kubeconfig=${kubeconfig}`], {}),
      /"--kubeconfig=.*kubeconfig is not YAML: line \d"/,
    ],
    [
      new Program('controller', [ENDPOINT, ...LOOPBACK, `--watch-dir=${folder}`, '--metrics-addr=203.0.113.1:80'], {}),
      /"--metrics-addr=203\.0\.113\.1:80: listen /,
    ],
    [new Program('proxy', [], {}), /^PROXY_AUTH_TOKEN: is not set/],
    [
      new Program('proxy', [], { PROXY_AUTH_TOKEN: `${secret}\n${secret}` }),
      /^PROXY_AUTH_TOKEN: holds characters that no HTTP header carries/,
    ],
    [new Program('proxy', [], { PROXY_AUTH_TOKEN: secret, PROXY_EDGE_CA: '/nope' }), /^PROXY_EDGE_CA: cannot read \/nope: ENOENT/],
    [new Program('proxy', [], { PROXY_AUTH_TOKEN: secret, PROXY_CONFIG_ADDR: '203.0.113.1:80' }), /"PROXY_CONFIG_ADDR: listen /],
  ];
  for (const [program, expected] of cases) {
    assert.equal(await program.ended, 'exit code 1', program.output);
    assert.match(program.output, expected);
    assert.deepEqual(secrets.secretsIn(program.output), []);
  }
});

test('what a proxy can do without does not keep it from starting', async (t) => {
  const stateDir = path.dirname(file('proxy/last-good.ndjson', randomBytes(100_000)));
  const environment = { PROXY_AUTH_TOKEN: secret, PROXY_CONFIG_ADDR: '127.0.0.1:0', PROXY_CONNECTOR: 'native', TUNNEL_TOKEN: secret };
  const program = new Program('proxy', [], { ...environment, PROXY_STATE_DIR: stateDir });
  t.after(() => program.stop());
  await eventually('the config API is up', () => program.output.includes('config API is up') || program.end !== null);
  assert.match(
    program.output,
    /"reason":"line 1 is not a JSON object in UTF-8","msg":"the configuration kept on disk cannot be used: waiting for a controller"/,
  );
  const port = Number(/"port":(\d+),"msg":"config API is up"/.exec(program.output)?.[1]);
  assert.deepEqual(await get(port, '/readyz'), { status: 503, body: 'no configuration yet\n' });
  assert.match(program.output, /"problem":"[^"]+","msg":"the token of TUNNEL_TOKEN or PROXY_TUNNEL_TOKEN_FILE cannot be used"/);
  await program.stop();
  assert.deepEqual(secrets.secretsIn(program.output), []);
});

test('a connector that is not there is told at the start, not with the first configuration', async (t) => {
  const connectorToken = Buffer.from(JSON.stringify({ a: 'a'.repeat(32), t: randomUUID(), s: secret })).toString('base64');
  secrets.add('connector token', connectorToken);
  const environment = { PROXY_AUTH_TOKEN: secret, PROXY_CONFIG_ADDR: '127.0.0.1:0', PROXY_STATE_DIR: path.join(folder, 'none') };
  const program = new Program('proxy', [], { ...environment, TUNNEL_TOKEN: connectorToken, CLOUDFLARED: '/nope/cloudflared' });
  t.after(() => program.stop());
  await eventually('it is told', () => /"program":"\/nope\/cloudflared","msg":"cloudflared is not there/.test(program.output));
  await program.stop();
  assert.deepEqual(secrets.secretsIn(program.output), []);
});

test('help names the flags of one role and the variables of the other, whatever else is missing', async () => {
  for (const role of ['controller', 'proxy'] as const) {
    const program = new Program(role, ['--help'], {});
    assert.equal(await program.ended, 'exit code 0', program.output);
    assert.match(program.output, /--watch-dir=… +CF_WATCH_DIR\n[^]*PROXY_AUTH_TOKEN\n/);
  }
});

test('what a name of an object holds moves no cursor and begins no line, on a terminal or in the text log', async (t) => {
  const dir = path.dirname(file('objects/a.yaml', 'apiVersion: v1\nkind: Service\nmetadata: {name: "a\\nERROR forged\\e[2J\\u202e"}\n'));
  const program = new Program('controller', [ENDPOINT, ...LOOPBACK, `--watch-dir=${dir}`, '--log-format=text'], {});
  t.after(() => program.stop());
  await eventually('it is told', () => program.output.includes('forged'));
  assert.match(program.output, /Service default\/a\\u000aERROR forged\\u001b\[2J\\u202e/);
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(program.output, /^ERROR forged|[\u001b\u202e]/m);
});
