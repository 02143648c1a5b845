// A kubeconfig that cannot be used: which file and why, without a word of what stands in it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Credentials } from '#controller/kube/credentials.ts';
import { loadKubeConfig } from '#controller/kube/kubeconfig.ts';

const user = '  - {name: u, user: {token: hunter2hunter2}}';
const cluster = (server: string): string =>
  `clusters:\n  - {name: c, cluster: {server: "${server}"}}\nusers:\n${user}\ncontexts:\n  - {name: x, context: {cluster: c, user: u}}\n`;

test('a kubeconfig that cannot be used', (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'kubeconfig-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'config');
  const cases: readonly (readonly [string | null, RegExp])[] = [
    [null, /^Error: --kubeconfig=.* cannot be read: ENOENT$/],
    [`users:\n${user}}\n  bad: [`, /^Error: --kubeconfig=.* is not YAML: line \d$/],
    ['users: *hunter2hunter2', /^Error: --kubeconfig=.* is not YAML: line 1$/],
    ['users: [hunter2hunter2]', /^Error: .*kubeconfig/],
    ['hunter2hunter2', /^Error: the kubeconfig has no current cluster: set current-context$/],
    [cluster('https://127.0.0.1:1'), /^Error: the kubeconfig has no current cluster: set current-context$/],
    [
      `${cluster('hunter2hunter2')}current-context: x\n`,
      /^Error: the server of the current cluster .* is not a URL: correct clusters\[\]\.cluster\.server$/,
    ],
  ];
  for (const [text, expected] of cases) {
    rmSync(file, { force: true });
    if (text !== null) writeFileSync(file, text);
    assert.throws(
      () => new Credentials(loadKubeConfig(file)),
      (error) => {
        assert.match(String(error), expected);
        assert.doesNotMatch(String(error), /hunter2/);
        return true;
      },
    );
  }
});
