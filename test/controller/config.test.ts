// Flags and environment of the controller.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '#controller/config.ts';
import type { ControllerConfig } from '#controller/config.ts';

const endpoint = '--proxy-endpoints=http://proxy-headless.system.svc:8081/config';

function valid(argv: string[], env: Record<string, string> = {}): ControllerConfig {
  const config = readConfig([endpoint, ...argv], env);
  if ('errors' in config) assert.fail(config.errors.join('\n'));
  return config;
}

function errors(argv: string[], env: Record<string, string> = {}): readonly string[] {
  const config = readConfig(argv, env);
  return 'errors' in config ? config.errors : assert.fail('was accepted');
}

test('a flag wins over its environment variable, both over the default', () => {
  assert.equal(valid([]).logLevel, 'info');
  assert.equal(valid([], { CF_LOG_LEVEL: 'warn' }).logLevel, 'warn');
  assert.equal(valid(['--log-level=debug'], { CF_LOG_LEVEL: 'warn' }).logLevel, 'debug');
});

test('booleans work bare and with a value, values with a space or an equals sign', () => {
  assert.equal(valid(['--leader-elect']).leaderElect, true);
  assert.equal(valid(['--leader-elect=false']).leaderElect, false);
  assert.equal(valid(['--leader-elect', '--proxy-token-secret', 'ns/token']).settings.tokenSecret, 'ns/token');
});

test('an unknown flag, a stray word and a malformed value are each named', () => {
  const found = errors([endpoint, '--proxy-enpoints=x', 'stray', '--proxy-token-secret=noslash']);
  assert.equal(found.length, 3);
  assert.match(found[0] ?? '', /--proxy-enpoints is not a flag/);
  assert.equal(found[1], 'argument 3 is not a flag: write --name=value');
  assert.match(found[2] ?? '', /--proxy-token-secret: must be namespace\/name/);
});

test('proxy endpoints are required and must be URLs; blanks and empty items are dropped', () => {
  assert.match(errors([])[0] ?? '', /--proxy-endpoints: is required/);
  assert.match(errors(['--proxy-endpoints=proxy:8081'])[0] ?? '', /http\(s\) URLs/);
  const config = readConfig(['--proxy-endpoints= http://a:1/config , ,http://b:2/config'], {});
  assert.deepEqual('errors' in config ? config.errors : config.proxyEndpoints, ['http://a:1/config', 'http://b:2/config']);
});

test('loopback endpoints are allowed by the folder source only', () => {
  assert.equal(valid([]).settings.allowLoopbackEndpoints, false);
  assert.equal(valid(['--watch-dir=examples']).settings.allowLoopbackEndpoints, true);
});

test('what is refused is never shown: it may be a secret behind a flag that is misspelt or the wrong one', () => {
  const secret = 'hunter2-hunter2';
  const flags = [
    'proxy-auth-tokn',
    'metrics-addr',
    'proxy-auth-secret-ref',
    'tunnel-protocol',
    'tracing-sample-rate',
    'cloudflare-api-url',
  ];
  const found = errors([
    endpoint,
    ...flags.map((flag) => `--${flag}=${secret}`),
    '--proxy-auth-tokn',
    secret,
    `--proxy-endpoints=${secret}`,
  ]);
  assert.equal(found.length, 9);
  assert.doesNotMatch(found.join('\n'), /hunter2/);
});

test('addresses have ports that there are, and the API of Cloudflare is a URL', () => {
  assert.match(errors([endpoint, '--health-addr=127.0.0.1:65536'])[0] ?? '', /--health-addr: must be an address such as :8080/);
  assert.equal(valid(['--health-addr=127.0.0.1:65535']).healthAddress, '127.0.0.1:65535');
  assert.match(errors([endpoint, '--cloudflare-api-url=api'])[0] ?? '', /--cloudflare-api-url: must be an http\(s\) URL/);
});

test('an auth token is taken without the line break of its file, and refused when no header can carry it', () => {
  assert.equal(valid([], { CF_PROXY_AUTH_TOKEN: 'token\n' }).proxyAuth.token, 'token');
  for (const token of ['two words', 'two\nlines', 'umläut', 'x'.repeat(5000)]) {
    assert.match(
      errors([endpoint, `--proxy-auth-token=${token}`])[0] ?? '',
      /^--proxy-auth-token: holds characters that no HTTP header carries/,
    );
  }
});
