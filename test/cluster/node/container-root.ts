// How a program gets what a container has: the network of its pod, a host name, and a root folder of its own with volumes mounted in it.
import { readFileSync } from 'node:fs';

/** A folder or file of the node, and where the container sees it. */
export interface Mount {
  readonly source: string;
  readonly target: string;
}

export interface ContainerRoot {
  /** Command that enters the network of the pod. */
  readonly enter: readonly string[];
  readonly hostname: string;
  /** Empty; what the container writes stays below it, seen by nobody else, and ends with the container. */
  readonly folder: string;
  readonly mounts: readonly Mount[];
  /** Where the program looks for programs; what is done before it starts needs those of the machine. */
  readonly path: string;
}

/**
 * $1 folder, $2 host name, $3 PATH of the program, then the machine's own mounts up to "--", then source and target of each mount up to "--", then the command.
 * The root is the machine's tree under a layer that takes what is written. Targets are made and looked up inside it: /var/run is an
 * absolute link on most systems, and would lead to the machine's own /run.
 */
const script = `
  set -e
  root=$1/root path=$3 chroot=$(command -v chroot)
  mkdir -p "$1"
  mount -t tmpfs none "$1"
  mkdir "$1/upper" "$1/work" "$root"
  mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
  echo "$2" >/proc/sys/kernel/hostname
  shift 3
  while [ "$1" != -- ]; do
    mount --rbind "$1" "$root$1" 2>/dev/null || : # one that is hidden by another cannot be found, by nobody
    shift
  done
  shift
  while [ "$1" != -- ]; do
    if [ -d "$1" ]; then
      chroot "$root" mkdir -p "$2"
    else
      chroot "$root" sh -ec 'file=$(readlink -m "$1"); mkdir -p "$(dirname "$file")"; [ -e "$file" ] || : >"$file"' sh "$2"
    fi
    mount --bind "$1" "$root$(chroot "$root" readlink -f "$2")"
    shift 2
  done
  shift
  PATH=$path
  exec "$chroot" "$root" "$@"
`;

/** The whole command line; its process becomes the program. */
export function containerCommand({ enter, hostname, folder, mounts, path }: ContainerRoot, command: readonly string[]): readonly string[] {
  const targets = mounts.flatMap(({ source, target }) => [source, target]);
  const layers = ['unshare', '--mount', '--uts', '/bin/sh', '-c', script, 'container'];
  return [...enter, ...layers, folder, hostname, path, ...machineMounts(), '--', ...targets, '--', ...command];
}

/** The folders on which something else than the root file system is mounted: a layer over the root does not show it. */
const machineMounts = (): readonly string[] => outermostFolders(readFileSync('/proc/self/mountinfo', 'utf8'));

/** Mount points from the text of a mountinfo file (proc_pid_mountinfo(5)): the fifth field, blanks as octal numbers. */
export function outermostFolders(mountinfo: string): readonly string[] {
  const points = mountinfo
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((point) => point.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8))))
    // Single files, like the resolv.conf of a machine that is a container, are what a pod has its own of.
    .filter((point) => point !== '/' && !point.startsWith('/etc/'));
  const sorted = [...new Set(points)].sort();
  return sorted.filter((point) => !sorted.some((other) => point.startsWith(`${other}/`)));
}
