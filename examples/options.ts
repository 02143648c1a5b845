// What the quick start is asked to do: its arguments, checked, with what to do about those that make no sense.
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

export const root = path.join(import.meta.dirname, '..');

export interface Options {
  readonly once: boolean;
  readonly connector: 'native' | 'cloudflared';
  /** Path of the real binary; empty for the native connector. */
  readonly cloudflared: string;
  /** Folder of YAML, absolute. */
  readonly dir: string;
}

export const USAGE = `usage: npm run quickstart -- [options]

  --once                    send the requests, print what came back, exit 0 only if all is right
  --connector native        the connector in TypeScript (default)
  --connector cloudflared   the real binary, from CLOUDFLARED or PATH
  --dir FOLDER              another folder of YAML (default: examples/quickstart)`;

type Environment = Readonly<Record<string, string | undefined>>;

/** npm runs scripts in the folder of the package; paths are meant from where npm was called. */
const callerFolder = (env: Environment): string => env['INIT_CWD'] ?? process.cwd();

/** A path as short as the caller would write it. */
export function shown(file: string, env: Environment = process.env): string {
  const relative = path.relative(callerFolder(env), file);
  return relative.startsWith('..') || path.isAbsolute(relative) ? file : relative || '.';
}

/** The options, or what is wrong with them; null when only help is wanted. */
export function readOptions(args: readonly string[], env: Environment): Options | { readonly error: string } | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        once: { type: 'boolean', default: false },
        connector: { type: 'string', default: 'native' },
        dir: { type: 'string', default: '' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return null;
    if (env['npm_config_once'] !== undefined || env['npm_config_connector'] !== undefined || env['npm_config_dir'] !== undefined)
      throw new Error('npm has kept the options for itself: put -- before them, as in npm run quickstart -- --once');
    const { connector } = values;
    if (connector !== 'native' && connector !== 'cloudflared') throw new Error(`--connector is native or cloudflared, not '${connector}'`);
    const dir = values.dir === '' ? path.join(root, 'examples/quickstart') : path.resolve(callerFolder(env), values.dir);
    checkFolder(dir);
    return { once: values.once, connector, cloudflared: connector === 'cloudflared' ? findCloudflared(env) : '', dir };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function checkFolder(dir: string): void {
  try {
    if (!statSync(dir).isDirectory()) throw new Error('it is not a folder');
    readdirSync(dir);
  } catch (error) {
    throw new Error(`--dir: ${dir} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** The real binary, which no package registry has. */
function findCloudflared(env: Environment): string {
  const wanted = env['CLOUDFLARED'] || 'cloudflared';
  const candidates = wanted.includes('/')
    ? [path.resolve(callerFolder(env), wanted)]
    : (env['PATH'] ?? '').split(path.delimiter).map((folder) => path.join(folder, wanted));
  const found = candidates.find(isProgram);
  if (found !== undefined) return found;
  throw new Error(
    env['CLOUDFLARED']
      ? `CLOUDFLARED is '${env['CLOUDFLARED']}', which is not a program that can be run`
      : 'no cloudflared is installed: set CLOUDFLARED to its path, put it on PATH, or leave out --connector cloudflared',
  );
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
