// The ground that the node stands on: its own network and mounts, a folder that vanishes with them, and addresses that need no interface.
import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { enterOwnNetwork, networkUnavailable, NODE_ADDRESS } from '../network.ts';

/** Every machine has it, and nothing that we need is in it: covered by a fresh one, it is the node's disk. */
const DISK = '/dev/shm';
/** ClusterIPs, and addresses that a load balancer or an edge of a test may publish. */
const LOCAL_RANGES = ['10.96.0.0/16', '10.245.0.0/16'];
const RESOLVER = '/etc/resolv.conf';

const tryOverlay = `
  set -e
  mount -t tmpfs none ${DISK}
  cd ${DISK}
  mkdir upper work root
  mount -t overlay none -o lowerdir=/,upperdir=upper,workdir=work root
  chroot root true
`;

/** Why no node can be emulated here; null when it can. Tests skip with it. */
export function nodeUnavailable(): string | null {
  const network = networkUnavailable();
  if (network !== null) return network;
  // In a user namespace the kernel refuses to lay an overlay over the whole tree.
  if (process.getuid?.() !== 0) return 'the node emulator needs root: each container has a root folder of its own';
  try {
    execFileSync('unshare', ['--mount', '/bin/sh', '-c', tryOverlay], { stdio: 'ignore' });
    return null;
  } catch {
    return 'the node emulator needs overlayfs, and the programs unshare, mount and chroot';
  }
}

/**
 * Goes on in namespaces of its own (see `enterOwnNetwork`), before anything else is started. What is written to the temporary folder
 * from here on, a cluster's state included, is in memory and gone with the last process, however that ends.
 */
export function enterNode(): void {
  enterOwnNetwork();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'node', DISK]);
  process.env['TMPDIR'] = DISK;
  // Any address of a local range can be listened on, and whoever sends to one on which nobody listens is refused at once.
  for (const range of LOCAL_RANGES) execFileSync('ip', ['route', 'add', 'local', range, 'dev', 'lo']);
  resolveHere();
}

/** The node's own DNS server, for this process and what it starts: no other could be reached. */
function resolveHere(): void {
  if (!existsSync(RESOLVER)) return;
  const file = path.join(DISK, 'resolv.conf');
  writeFileSync(file, `nameserver ${NODE_ADDRESS}\n`);
  execFileSync('mount', ['--bind', file, realpathSync(RESOLVER)]);
}
