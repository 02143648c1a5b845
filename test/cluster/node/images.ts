// Which programs stand behind the images that pods name: there are no images here, only what would be inside them.
import path from 'node:path';
import { buildHint, toolPath } from '../../../tools/tool-paths.ts';
import type { Probe } from './types.ts';

export interface Image {
  readonly matches: RegExp;
  /** Seen at /app by the container, whatever it mounts elsewhere. */
  readonly folder: string;
  readonly entrypoint: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** For containers that have none: how to find out that the program works. */
  readonly startupProbe?: Probe;
}

export const IMAGE_FOLDER = '/app';
const root = path.join(import.meta.dirname, '..', '..', '..');

/** The unmodified backend of the conformance suite. */
export function echoBasicImage(): Image {
  const program = toolPath('echo-basic');
  if (program === null) throw new Error(buildHint(['echo-basic']));
  return {
    matches: /\/echo-basic:/,
    folder: path.dirname(program),
    entrypoint: [`${IMAGE_FOLDER}/${path.basename(program)}`],
    // Whatever it speaks, it does so on this port. Its pods have no probes, and the suite's tests expect that pods which are Ready answer.
    startupProbe: { tcpSocket: { port: 3000 }, periodSeconds: 0.05, failureThreshold: 600 },
  };
}

/** Our own image, both roles. `env` is what the machine of a test needs to be told, for instance where the local edge is. */
export function ownImage(matches: RegExp, env: Readonly<Record<string, string>> = {}): Image {
  const inside = path.relative(root, process.execPath);
  const node = inside.startsWith('..') ? process.execPath : path.join(IMAGE_FOLDER, inside);
  return { matches, folder: root, entrypoint: [node, '--disable-warning=ExperimentalWarning', `${IMAGE_FOLDER}/main.ts`], env };
}

export function imageOf(images: readonly Image[], name: string): Image {
  const image = images.find(({ matches }) => matches.test(name));
  if (image === undefined) throw new Error(`no program is known for the image ${name}`);
  return image;
}
