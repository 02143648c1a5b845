// Remembers in the Lease which port each tunnel has: the Lease is ours to write anyway, and lives as long as the installation.
import { OWN_GROUP } from '#controller/api/own.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { describeError } from '#controller/kube/errors.ts';
import { isRecord } from '#controller/kube/json.ts';
import type { Log } from '#controller/kube/log.ts';

const ANNOTATION = `${OWN_GROUP}/entry-ports`;

export class PortBook {
  readonly #client: KubeClient;
  readonly #path: string;
  readonly #log: Log;
  #ports: ReadonlyMap<string, number> = new Map();
  #stored = '';

  constructor(client: KubeClient, lease: { readonly namespace: string; readonly name: string }, log: Log) {
    this.#client = client;
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(lease.namespace)}/leases/${encodeURIComponent(lease.name)}`;
    this.#log = log;
  }

  get ports(): ReadonlyMap<string, number> {
    return this.#ports;
  }

  /** To be called on becoming leader, before anything is decided: another replica may have given out ports. */
  async load(): Promise<void> {
    const lease = await this.#client.json({ method: 'GET', path: this.#path });
    const metadata = isRecord(lease) && isRecord(lease['metadata']) ? lease['metadata'] : {};
    const text = isRecord(metadata['annotations']) ? metadata['annotations'][ANNOTATION] : undefined;
    this.#ports = parse(text);
    this.#stored = JSON.stringify(Object.fromEntries(this.#ports));
  }

  /** Written in the background; a failure is made good with the next change or restart, when ports are given out in the same order again. */
  keep(ports: ReadonlyMap<string, number>): void {
    this.#ports = ports;
    const text = JSON.stringify(Object.fromEntries(ports));
    if (text === this.#stored) return;
    this.#stored = text;
    const body = { metadata: { annotations: { [ANNOTATION]: text } } };
    this.#client.json({ method: 'PATCH', path: this.#path, body, contentType: 'application/merge-patch+json' }).catch((error: unknown) => {
      this.#stored = '';
      this.#log.warn({ error: describeError(error) }, 'could not remember the ports of tunnels');
    });
  }
}

function parse(text: unknown): ReadonlyMap<string, number> {
  try {
    const value: unknown = typeof text === 'string' ? JSON.parse(text) : {};
    const entries = isRecord(value) ? Object.entries(value) : [];
    return new Map(entries.flatMap(([id, port]) => (Number.isInteger(port) ? [[id, port as number] as const] : [])));
  } catch {
    return new Map();
  }
}
