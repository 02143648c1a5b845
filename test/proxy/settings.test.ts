// Environment of the proxy.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parseDuration, readSettings } from '#proxy/settings.ts';
import type { ProxySettings } from '#proxy/settings.ts';

function valid(env: Record<string, string>): ProxySettings {
  const settings = readSettings({ PROXY_AUTH_TOKEN: 'token', ...env });
  if ('errors' in settings) assert.fail(settings.errors.join('\n'));
  return settings;
}

function error(env: Record<string, string>): string {
  const settings = readSettings(env);
  return 'errors' in settings ? settings.errors.join('\n') : assert.fail('was accepted');
}

test('durations as Go writes them', () => {
  const vectors: [string, number | null][] = [
    ['300ms', 300],
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['0s', 0],
    ['', null],
    ['10', null],
    ['-1s', null],
    ['1 s', null],
  ];
  for (const [text, ms] of vectors) assert.equal(parseDuration(text), ms, text);
});

test('without an auth token it starts only when told that the config API may be open', () => {
  assert.match(error({}), /PROXY_AUTH_TOKEN: is not set/);
  const open = readSettings({ PROXY_INSECURE_CONFIG_API: 'true' });
  assert.equal('errors' in open ? open.errors : open.authToken, null);
});

test('an auth token that is set but empty is a mistake, never an open door', () => {
  assert.match(error({ PROXY_AUTH_TOKEN: '', PROXY_INSECURE_CONFIG_API: 'true' }), /set but empty/);
});

test('an auth token is taken without the line break of its file, and refused when no header can carry it', () => {
  assert.equal(valid({ PROXY_AUTH_TOKEN: 'token\n' }).authToken, 'token');
  assert.match(error({ PROXY_AUTH_TOKEN: ' \n' }), /set but empty/);
  for (const token of ['hunter2 hunter2', 'hunter2\nhunter2', 'hünter2']) {
    assert.match(error({ PROXY_AUTH_TOKEN: token }), /^PROXY_AUTH_TOKEN: holds characters that no HTTP header carries(?!.*h[uü]nter2)/);
  }
});

test('an empty host means every interface; IPv6 goes in brackets', () => {
  assert.deepEqual(valid({}).configAddress, { host: '', port: 8081 });
  assert.deepEqual(valid({ PROXY_CONFIG_ADDR: '[::1]:9' }).configAddress, { host: '::1', port: 9 });
  assert.match(error({ PROXY_AUTH_TOKEN: 't', PROXY_CONFIG_ADDR: '8081' }), /PROXY_CONFIG_ADDR/);
});

test('the grace period has a ceiling and a floor', () => {
  assert.equal(valid({ PROXY_GRACE_PERIOD: '10m' }).graceMs, 180_000);
  assert.equal(valid({ PROXY_GRACE_PERIOD: '0s' }).graceMs, 30_000);
  assert.equal(valid({}).graceMs, 30_000);
});

test('the own entry listens everywhere and believes nobody, unless told otherwise', () => {
  assert.deepEqual([valid({}).entryAddress, valid({}).trustedHops], ['', 0]);
  const told = valid({ PROXY_ENTRY_ADDRESS: '10.0.0.1', PROXY_TRUSTED_HOPS: '2' });
  assert.deepEqual([told.entryAddress, told.trustedHops], ['10.0.0.1', 2]);
  for (const hops of ['-1', '1.5', 'all', '17'])
    assert.match(error({ PROXY_AUTH_TOKEN: 't', PROXY_TRUSTED_HOPS: hops }), /PROXY_TRUSTED_HOPS/);
});

test('cloudflared is found on the PATH that we were given, whatever PATH the child gets', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'path-'));
  writeFileSync(path.join(dir, 'cloudflared'), '');
  assert.equal(valid({ PATH: `/nonexistent:${dir}` }).cloudflared, path.join(dir, 'cloudflared'));
  assert.equal(valid({ PATH: '/nonexistent' }).cloudflared, 'cloudflared');
  assert.equal(valid({ PATH: dir, CLOUDFLARED: '/opt/cloudflared' }).cloudflared, '/opt/cloudflared');
  rmSync(dir, { recursive: true });
});

test('every wrong variable is named, not only the first', () => {
  const text = error({ PROXY_AUTH_TOKEN: 't', PROXY_TUNNEL_PROTOCOL: 'tcp', PROXY_LOG_LEVEL: 'loud' });
  assert.match(text, /PROXY_TUNNEL_PROTOCOL/);
  assert.match(text, /PROXY_LOG_LEVEL/);
});
