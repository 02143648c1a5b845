// Where the proxy's own token comes from, and what becomes of connections when somebody puts something else there.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { TokenFile } from '#proxy/connector/token-file.ts';
import { eventually } from '#test/kube/eventually.ts';

const [A, B] = ['3f2b8c1d-0a4e-4f6b-9c7d-112233445566', '00000000-0000-4000-8000-000000000001'] as const;
const tokenOf = (tunnel: string, secret = 1): string =>
  Buffer.from(JSON.stringify({ a: 'account', t: tunnel, s: Buffer.alloc(32, secret).toString('base64') })).toString('base64');

function fileOf(context: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'token-file-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'token');
}

test('the file wins over the environment, which serves where there is none', (context) => {
  const file = fileOf(context);
  const absent = new TokenFile({ file, fallback: tokenOf(A), onChange: () => {} });
  context.after(() => absent.close());
  assert.deepEqual([absent.tunnelId, absent.of(A), absent.of(B)], [A, tokenOf(A), null]);
  writeFileSync(file, `${tokenOf(B)}\n`);
  const present = new TokenFile({ file, fallback: tokenOf(A), onChange: () => {} });
  context.after(() => present.close());
  assert.deepEqual([present.tunnelId, present.of(B), present.of(A), present.problem], [B, tokenOf(B), null, null]);
});

test('a token that is replaced by nonsense or another tunnel’s goes on serving its own tunnel', async (context) => {
  const file = fileOf(context);
  let changes = 0;
  writeFileSync(file, tokenOf(A));
  const tokens = new TokenFile({ file, fallback: '', onChange: () => changes++, lookMs: 5 });
  context.after(() => tokens.close());
  const becomes = async (text: string): Promise<void> => {
    const before = changes;
    writeFileSync(file, text);
    await eventually('the change is seen', () => changes > before);
  };
  await becomes('garbage!');
  assert.deepEqual([tokens.tunnelId, tokens.of(A), tokens.problem], [A, tokenOf(A), 'the tunnel token is not base64']);
  await becomes(tokenOf(B));
  assert.deepEqual([tokens.tunnelId, tokens.of(A), tokens.of(B), tokens.problem], [B, tokenOf(A), tokenOf(B), null]);
  await becomes(tokenOf(A, 2));
  assert.deepEqual([tokens.tunnelId, tokens.of(A)], [A, tokenOf(A, 2)]);
});

test('without any token the problem says so', () => {
  const tokens = new TokenFile({ file: '', fallback: '', onChange: () => {} });
  assert.deepEqual([tokens.tunnelId, tokens.of(A), tokens.problem], [null, null, null]);
  assert.equal(new TokenFile({ file: '', fallback: 'x', onChange: () => {} }).problem, 'the tunnel token is not base64');
});
