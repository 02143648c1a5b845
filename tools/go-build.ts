// Builds one tool from its locked Go module into the cache: to a temporary name first, so that what has its final name is complete.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ended, signalGroup, spawnTethered } from '#proxy/connector/tethered-process.ts';
import { requiredGo, toolEntry, type Recipe } from './tool-catalog.ts';
import { moduleFolder, toolsRoot } from './tool-paths.ts';

/** What a running build did so far: counts, and the last thing it named. */
export interface BuildProgress {
  readonly downloaded: number;
  readonly compiled: number;
}

export class BuildFailure extends Error {}

const TAIL_LINES = 30;

// The machine's own settings stay, except those that would make a program for elsewhere, or from other sources than the locked ones.
const buildEnv = (): NodeJS.ProcessEnv => {
  const env: NodeJS.ProcessEnv = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GO111MODULE: 'on' };
  delete env['GOOS'];
  delete env['GOARCH'];
  return env;
};

/** Why Go cannot be used here, with the fix; null when it can. */
export async function goProblem(what: Recipe): Promise<string | null> {
  const wanted = requiredGo(readFileSync(path.join(moduleFolder(what.name), 'go.mod'), 'utf8'));
  const fix = `install Go ${wanted} or newer from https://go.dev/dl and have its "go" in PATH`;
  const version = await capture(['env', 'GOVERSION'], moduleFolder(what.name)).catch((error: unknown) => error as Error);
  if (version instanceof Error) {
    const absent = (version as NodeJS.ErrnoException).code === 'ENOENT';
    return absent ? `the Go toolchain is missing: ${fix}` : `"go env" fails: ${version.message.trim()}\n${fix}`;
  }
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(version.trim()) ?? [];
  const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
  if (major === undefined || minor === undefined) return null; // a development build of Go knows best
  const old = Number(major) < (wantedMajor ?? 0) || (Number(major) === wantedMajor && Number(minor) < (wantedMinor ?? 0));
  return old ? `${version.trim()} is too old: ${fix}` : null;
}

/**
 * Builds and puts in place. Rejects with `BuildFailure`, whose message ends with the tail of Go's output, or with the abort reason.
 * Go keeps each compiled package in a cache of its own, so a build that was interrupted continues where it was.
 */
export async function buildTool(what: Recipe, signal: AbortSignal, onProgress: (progress: BuildProgress) => void): Promise<void> {
  const root = toolsRoot();
  mkdirSync(root, { recursive: true });
  removeAbandoned(root);
  const unfinished = mkdtempSync(path.join(root, `.unfinished-${what.name}-`));
  try {
    const { package: goPackage, tests } = toolEntry(what.name);
    if (goPackage === null) await copyCrds(what, unfinished, signal);
    else {
      const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', what.ldflags, '-o', path.join(unfinished, what.name)];
      // `go test` has no word for the packages that it compiles: its -v belongs to the tests.
      await runGo(tests ? ['test', '-c', ...flags, goPackage] : ['build', '-v', ...flags, goPackage], what, { signal, onProgress });
    }
    chmodSync(unfinished, 0o755);
    renameSync(unfinished, path.join(root, what.folder));
  } catch (error) {
    // Another run was faster: its result is as good as ours.
    if (!['ENOTEMPTY', 'EEXIST'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

// A run that was killed could not clean up; one that is a day old is not running any more.
function removeAbandoned(root: string): void {
  for (const entry of readdirSync(root)) {
    const folder = path.join(root, entry);
    const dayAgo = Date.now() - 24 * 3600 * 1000;
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (entry.startsWith('.unfinished-') && stats && stats.mtimeMs < dayAgo) rmSync(folder, { recursive: true, force: true });
  }
}

// Copied, so that tests need neither Go nor its module cache. Kustomize's file lists are no objects.
async function copyCrds(what: Recipe, into: string, signal: AbortSignal): Promise<void> {
  const lines = await runGo(['mod', 'download', '-json', toolEntry(what.name).versionOf], what, { signal, onProgress: () => {} });
  const { Dir: source } = JSON.parse(lines.join('\n')) as { readonly Dir: string };
  writeFileSync(path.join(into, 'LICENSE'), readFileSync(path.join(source, 'LICENSE')));
  for (const channel of ['standard', 'experimental']) {
    const from = path.join(source, 'config', 'crd', channel);
    mkdirSync(path.join(into, channel));
    for (const file of readdirSync(from)) {
      if (file !== 'kustomization.yaml') writeFileSync(path.join(into, channel, file), readFileSync(path.join(from, file)));
    }
  }
}

interface GoRun {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BuildProgress) => void;
}

/** Runs Go in the tool's module and gives the lines it wrote that are not progress. */
async function runGo(args: readonly string[], what: Recipe, { signal, onProgress }: GoRun): Promise<readonly string[]> {
  signal.throwIfAborted();
  // A compiler on every core for minutes: whoever works on this machine goes first.
  const child = spawnTethered('nice', ['-n', '10', 'go', ...args], {
    cwd: moduleFolder(what.name),
    env: buildEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = (): void => signalGroup(child, 'SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  const lines: string[] = [];
  const progress = { downloaded: 0, compiled: 0 };
  const reading = [child.stdout, child.stderr].map(async (stream) => {
    if (stream === null) return;
    for await (const line of createInterface({ input: stream })) {
      if (line.startsWith('go: downloading ')) progress.downloaded += 1;
      else if (/^[\w./~-]+$/.test(line)) progress.compiled += 1;
      else lines.push(line);
      onProgress({ ...progress });
    }
  });
  const end = await ended(child);
  await Promise.all(reading);
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  if (end !== 'exit code 0') throw new BuildFailure(`go ${args[0]} ended with ${end}:\n${lines.slice(-TAIL_LINES).join('\n')}`);
  return lines;
}

const capture = (args: readonly string[], cwd: string): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile('go', args, { cwd, env: buildEnv() }, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
  });
