// `npm run cluster`: a real Kubernetes control plane with the Gateway API and our CRDs, until Ctrl-C.
import { parseArgs } from 'node:util';
import { startControlPlane, type Cluster } from '../test/cluster/control-plane.ts';
import { toolPath } from './tool-paths.ts';

const usage = `usage: npm run cluster -- [--channel standard|experimental]

Starts etcd, kube-apiserver and kube-controller-manager on loopback, with the Gateway API CRDs of that channel
(experimental by default) and our own. State is thrown away at the end. There are no nodes: Pods stay Pending.`;

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const channel = readChannel(argv);
  if (channel === null) {
    console.error(usage);
    return argv.includes('--help') ? 0 : 2;
  }
  const interrupt = new AbortController();
  const interrupted = new Promise<null>((resolve) => {
    interrupt.signal.addEventListener('abort', () => resolve(null));
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort(new Error(signal)));

  const started = performance.now();
  const say = (step: string): void => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(5)} s  ${step}`);
  let cluster: Cluster;
  try {
    cluster = await startControlPlane({ channel, say, signal: interrupt.signal });
  } catch (error) {
    if (interrupt.signal.aborted) return 0; // whoever stops it early knows why it did not start
    console.error((error as Error).message);
    return 1;
  }
  say('ready\n');
  console.log(introduction(cluster));
  const death = await Promise.race([interrupted, cluster.ended]);
  console.log(death === null ? '\nStopping.' : 'Stopping the rest.');
  await cluster.stop();
  return death === null ? 0 : 1;
}

function readChannel(argv: readonly string[]): 'standard' | 'experimental' | null {
  try {
    const options = { channel: { type: 'string', default: 'experimental' } } as const;
    const { channel } = parseArgs({ args: [...argv], options }).values;
    return channel === 'standard' || channel === 'experimental' ? channel : null;
  } catch {
    return null;
  }
}

function introduction({ kubeconfig, folder }: Cluster): string {
  return `In another terminal:

  export KUBECONFIG=${kubeconfig}
  alias kubectl=${toolPath('kubectl')}

  kubectl get crds
  kubectl create namespace demo
  kubectl explain httproute.spec.rules

Logs of the servers: ${folder}/*.log
Ctrl-C ends everything.`;
}
