// In a cluster: the API server gives objects and takes statuses and events, a Lease says who may write.
import { randomUUID } from 'node:crypto';
import os from 'node:os';
import type { Logger } from 'pino';
import { isUsableToken, UNUSABLE_TOKEN } from '#proxy/config/psk.ts';
import type { KubeObject } from './api/core.ts';
import type { Key } from './api/ref.ts';
import type { KindName } from './api/snapshot.ts';
import { ObjectApplier } from './apply/objects.ts';
import { EventRecorder } from './apply/events.ts';
import { kubeTunnelSecrets } from './apply/tunnel-secrets.ts';
import { StatusWriter } from './apply/status.ts';
import type { ControllerConfig } from './config.ts';
import type { Ground } from './ground.ts';
import { sharedAuthToken } from './kube/auth-token.ts';
import { KubeClient } from './kube/client.ts';
import { loadKubeConfig } from './kube/kubeconfig.ts';
import { Elector } from './loop/leader.ts';
import { PortBook } from './loop/port-book.ts';
import { createKubeSource } from './watch/kube-source.ts';

/** `ns/name` of the flag, or the token that was given directly; null means that the proxies' config API is open. */
async function proxyToken(config: ControllerConfig, client: KubeClient): Promise<string | null> {
  const { token, secretRef, key, generate } = config.proxyAuth;
  const [namespace, name] = secretRef.split('/');
  if (!namespace || !name) return token || null;
  const shared = await sharedAuthToken(client, { namespace, name, key, generate });
  if ('error' in shared) throw new Error(shared.error);
  if (!isUsableToken(shared.token)) throw new Error(`key ${key} of Secret ${secretRef} ${UNUSABLE_TOKEN}`);
  return shared.token;
}

/** `onLost`: the Lease went to another; the process must not go on with what it has decided. */
export async function kubeGround(config: ControllerConfig, log: Logger, onLost: (reason: string) => void): Promise<Ground> {
  const client = new KubeClient({ kubeConfig: loadKubeConfig(config.kubeconfig) });
  // The proxies' pods wait for this Secret, so it comes before everything else.
  const token = await proxyToken(config, client);
  const source = createKubeSource({ client, log });
  const current = (kind: KindName, key: Key): KubeObject | undefined => source.snapshot().objects[kind].get(key);
  const identity = `${os.hostname()}_${randomUUID()}`;
  const listeners = new Set<() => void>();
  const tell = (): void => listeners.forEach((listener) => listener());
  const book = new PortBook(client, config.lease, log);
  let booked = false;
  const elector = new Elector({
    client,
    ...config.lease,
    identity,
    log,
    onElected: () => {
      void book.load().then(
        () => {
          booked = true;
          tell();
        },
        (error: Error) => onLost(`cannot read the ports of tunnels: ${error.message}`),
      );
    },
    onLost,
  });
  const mayWrite = (): boolean => elector.isLeader();
  const statuses = new StatusWriter({ client, current, mayWrite, log });
  const events = new EventRecorder({ client, current, mayWrite, controller: config.settings.controllerName, instance: identity, log });
  const { controllerName, localEntry } = config.settings;
  const objects = localEntry
    ? new ObjectApplier({ client, snapshot: () => source.snapshot(), mayWrite, controllerName, onRetry: tell, log })
    : null;
  elector.start();
  let sequence = 0;
  return {
    source,
    statuses,
    events,
    objects,
    tunnelSecrets: kubeTunnelSecrets(client, config.settings.controllerNamespace),
    authority: {
      order: () => (booked && elector.isLeader() ? { epoch: elector.epoch(), sequence: (sequence += 1) } : null),
      get ports() {
        return book.ports;
      },
      keepPorts: (ports) => book.keep(ports),
    },
    proxyToken: token,
    raiseEpochAbove: (epoch) => void elector.adoptEpochAbove(epoch).then(tell),
    onAuthority: (listener) => void listeners.add(listener),
    freshSource: () => createKubeSource({ client, log }),
    async stop() {
      objects?.stop();
      await Promise.all([statuses.stop(), events.stop()]);
      await source.stop();
      await elector.stop();
      client.close();
    },
  };
}
