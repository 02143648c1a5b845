// Runs before `npm test`, `npm run check` and `npm run quickstart`, on whatever Node the machine has: installs the dependencies
// when they are absent or older than the lock file, and says what to do where no pinned Node exists for the platform.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (name) => `${root}${name}`;

const installed = at('node_modules/.package-lock.json');
const stale = !existsSync(installed) || statSync(installed).mtimeMs < statSync(at('package-lock.json')).mtimeMs;
if (stale) {
  console.log('Installing dependencies (npm ci) ...');
  const run = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, stdio: 'inherit' });
  if (run.status !== 0) {
    console.error('npm ci failed: see above. The two commands of the README need npm and access to its registry.');
    process.exit(run.status ?? 1);
  }
}

const wanted = Number(/>=\s*(\d+)/.exec(JSON.parse(readFileSync(at('package.json'), 'utf8')).engines.node)[1]);
const pinned = existsSync(at('node_modules/.bin/node'));
if (!pinned && Number(process.versions.node.split('.')[0]) < wanted) {
  console.error(
    `No Node is pinned for ${process.platform}/${process.arch}: please install Node ${wanted} or newer (this is ${process.version}).`,
  );
  process.exit(1);
}
