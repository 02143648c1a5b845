// The requests that bring an object of ours into being, change it and remove it.
import type { KubeObject } from '#controller/api/core.ts';
import type { ObjectManifest, ObjectPlan } from '#controller/api/plan.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { statusOf } from '#controller/kube/errors.ts';
import { resourcePath, rowOf } from '#controller/kube/kinds.ts';

/** Fields that this manager applied before and applies no more are removed by the API server. */
const MANAGER = 'cloudflare-tunnel-gateway-controller';

export class ObjectRequests {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Server-side apply. With a uid it must be that object: 409 when it was deleted or replaced meanwhile. */
  async apply(manifest: ObjectManifest, uid: string | undefined): Promise<void> {
    const metadata = { ...manifest.metadata, ...(uid !== undefined && { uid }) };
    await this.#client.json({
      method: 'PATCH',
      path: pathOf(manifest, manifest.metadata.name),
      query: { fieldManager: MANAGER, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: { ...manifest, metadata },
    });
  }

  /** Whether such an object could be created beside those that there are; throws KubeError if not. */
  async rehearse(manifest: ObjectManifest): Promise<void> {
    const metadata = { ...manifest.metadata, name: undefined };
    const body = { ...manifest, metadata: { ...metadata, generateName: 'cftunnel-rehearsal-' } };
    await this.#client.json({ method: 'POST', path: pathOf(manifest), query: { dryRun: 'All', fieldManager: MANAGER }, body });
  }

  /** That object and no other that has its name by now. */
  async remove(object: KubeObject): Promise<void> {
    const { name, uid } = object.metadata;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
    try {
      await this.#client.json({ method: 'DELETE', path: pathOf(object, name), body });
    } catch (error) {
      if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
    }
  }
}

function pathOf({ kind, apiVersion, metadata: { namespace } }: KubeObject, name?: string): string {
  const version = apiVersion.slice(apiVersion.lastIndexOf('/') + 1);
  return resourcePath(rowOf(kind as ObjectPlan['kind']), version, { namespace, ...(name !== undefined && { name }) });
}
