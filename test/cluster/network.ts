// A network (and mounts) of their own for a test file and all that it starts: loopback, a bridge on which "pods" have addresses, no way out.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { spawnTethered } from '#proxy/connector/tethered-process.ts';

const MARK = 'CFTUNNEL_OWN_NETWORK';
const BRIDGE = 'pods';
const PREFIX_LENGTH = 16;
/** Address of the "node": what pods reach of the test process. */
export const NODE_ADDRESS = '10.244.0.1';

/** The process keeps its id when it starts again. */
const isInside = (): boolean => process.env[MARK] === String(process.pid);

/** Without root the kernel may still let us be root of a network of our own. */
const unshare = (): readonly string[] =>
  process.getuid?.() === 0 ? ['unshare', '--net', '--mount'] : ['unshare', '--user', '--map-root-user', '--net', '--mount'];

const ip = (...commands: readonly string[]): void => {
  execFileSync('ip', ['-batch', '-'], { input: `${commands.join('\n')}\n`, stdio: ['pipe', 'ignore', 'pipe'] });
};

/** Why the processes of a test cannot have a network of their own here; null when they can. Tests skip with it. */
export function networkUnavailable(): string | null {
  if (isInside()) return null;
  try {
    const [program = '', ...args] = unshare();
    execFileSync(program, [...args, 'ip', 'link', 'add', 'type', 'bridge'], { stdio: 'ignore' });
    return null;
  } catch {
    return 'needs network namespaces and bridges: Linux, root (or unprivileged user namespaces), and the programs unshare, nsenter and ip';
  }
}

/**
 * Goes on in new network and mount namespaces: starts this very test file again there, in the same process. EndpointSlices cannot hold loopback
 * addresses, and every proxy has the same ports, so pods need addresses; here they collide with nobody's, nothing can leave, and all of it
 * ends with the last process in it.
 */
export function enterOwnNetwork(): void {
  if (!isInside()) {
    const [program = '', ...args] = unshare();
    const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    process.execve?.(execFileSync('/bin/sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim(), [program, ...args, ...again], {
      ...process.env,
      [MARK]: String(process.pid),
    });
  }
  // Without an address of its own the bridge has that of its lowest port, and loses it with a pod: the others would still send there.
  ip(
    'link set lo up',
    `link add ${BRIDGE} address 02:00:0a:f4:00:01 type bridge`,
    `addr add ${NODE_ADDRESS}/${PREFIX_LENGTH} dev ${BRIDGE}`,
    `link set ${BRIDGE} up`,
  );
}

/** `number` counts from 1, the node, to 65534. */
const addressOf = (number: number): string => `10.244.${number >> 8}.${number & 255}`;

/** Another address of the test process on the bridge: a backend listens there. */
export function addAddress(number: number): string {
  const address = addressOf(number);
  ip(`addr add ${address}/${PREFIX_LENGTH} dev ${BRIDGE}`);
  return address;
}

/** What containers of one pod share: an address and a loopback of their own, which outlive each of them. */
export interface Sandbox {
  readonly address: string;
  /** Command and arguments to put before those of a program that is to run inside. */
  readonly enter: readonly string[];
  remove(): Promise<void>;
}

const sandboxScript = `
  set -e
  ip -batch - <<END
    link set lo up
    link add eth0 type veth peer name $1 netns $3
    addr add $2/${PREFIX_LENGTH} dev eth0
    link set eth0 up
    route add default via ${NODE_ADDRESS}
END
  nsenter --net="/proc/$3/ns/net" ip link set "$1" master ${BRIDGE} up
  echo ready
  exec sleep infinity
`;

/** `number` is that of an address that is free. */
export async function createSandbox(number: number): Promise<Sandbox> {
  const address = addressOf(number);
  const args = ['--net', '/bin/sh', '-c', sandboxScript, 'sandbox', `pod${number}`, address, String(process.pid)];
  const child = spawnTethered('unshare', args, { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] });
  await ready(child);
  return {
    address,
    enter: ['nsenter', `--net=/proc/${child.pid}/ns/net`],
    async remove() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function ready(child: ChildProcess): Promise<void> {
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`no network for a pod: ${complaint}`)));
  ended.catch(() => {});
  await Promise.race([once(child.stdout ?? child, 'data'), ended]);
}
