// The object behind a status update as it is known best, and the two requests that a status needs.
import type { KubeObject } from '#controller/api/core.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { isRecord } from '#controller/kube/json.ts';
import { resourcePath, rowOf } from '#controller/kube/kinds.ts';
import type { ObjectWithStatus } from '#controller/output/merge-status.ts';

/** What is kept of an answer of the API server: enough to merge into and to write on top of. */
export interface KnownObject extends ObjectWithStatus {
  readonly metadata: KubeObject['metadata'] & { readonly uid: string; readonly resourceVersion: string };
}

/** The newer of two versions. What we wrote comes back through the watch only a moment later, and must not be written again until then. */
export function newest(watched: KubeObject, answered: KnownObject | undefined): ObjectWithStatus {
  if (answered === undefined || answered.metadata.uid !== watched.metadata.uid) return watched;
  return Number(answered.metadata.resourceVersion) > Number(watched.metadata.resourceVersion) ? answered : watched;
}

/** Throws KubeError, with 404 when it is gone. */
export async function readObject(client: KubeClient, object: KubeObject, signal: AbortSignal): Promise<KnownObject> {
  return known(await client.json({ method: 'GET', path: pathOf(object), signal }));
}

/**
 * Replaces the status if the object still has the version (and is the one) that was looked at; 409 otherwise. Only the identity and the
 * status are sent: a status request ignores the rest.
 */
export async function writeStatus(client: KubeClient, object: ObjectWithStatus, status: object, signal: AbortSignal): Promise<KnownObject> {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const metadata = { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion };
  const body = { apiVersion: object.apiVersion, kind: object.kind, metadata, status };
  return known(await client.json({ method: 'PUT', path: pathOf(object, 'status'), body, signal }));
}

function pathOf(object: KubeObject, subresource?: string): string {
  const { name, namespace } = object.metadata;
  const version = object.apiVersion.slice(object.apiVersion.lastIndexOf('/') + 1);
  return resourcePath(rowOf(object.kind as StatusUpdate['ref']['kind']), version, { namespace, name, ...(subresource && { subresource }) });
}

function known(body: unknown): KnownObject {
  const object = isRecord(body) ? body : {};
  const metadata = isRecord(object['metadata']) ? object['metadata'] : {};
  const { name, namespace, uid, resourceVersion, generation } = metadata;
  if (typeof name !== 'string' || typeof uid !== 'string' || typeof resourceVersion !== 'string') {
    throw new Error('the answer of the API server is not an object');
  }
  return {
    apiVersion: String(object['apiVersion']),
    kind: String(object['kind']),
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(typeof namespace === 'string' && { namespace }),
      ...(typeof generation === 'number' && { generation }),
    },
    status: object['status'],
  };
}

/** The first field of a status that was sent and is not stored: the CRD installed does not know it. */
export function lostField(sent: unknown, stored: unknown, path = 'status'): string | null {
  if (Array.isArray(sent)) {
    const list: readonly unknown[] = Array.isArray(stored) ? stored : [];
    return firstLost(sent.map((item: unknown, index) => [`${path}[${index}]`, item, list[index]] as const));
  }
  if (isRecord(sent)) {
    const fields = isRecord(stored) ? stored : {};
    return firstLost(Object.entries(sent).map(([name, value]) => [`${path}.${name}`, value, fields[name]] as const));
  }
  return stored === undefined && sent !== undefined ? path : null;
}

function firstLost(parts: readonly (readonly [path: string, sent: unknown, stored: unknown])[]): string | null {
  for (const [path, sent, stored] of parts) {
    if (sent !== undefined && stored === undefined) return path;
    const lost = lostField(sent, stored, path);
    if (lost !== null) return lost;
  }
  return null;
}
