// Objects that a cluster has without anybody writing them: namespaces, their name label, and a CRD of the Gateway API. Pure.
import type { CustomResourceDefinition, KubeObject, Namespace } from '#controller/api/core.ts';
import type { Key } from '#controller/api/ref.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import type { Entry } from './content.ts';
import { gatewayApiBundle } from './kinds.ts';

export interface Item {
  /** Tells the object from all others. */
  readonly id: string;
  readonly kind: KindName;
  readonly key: Key;
  readonly object: KubeObject;
  /** The kind has metadata.generation. */
  readonly counted: boolean;
}

/** What the files say and what follows from it. */
export function* withImplicit(entries: ReadonlyMap<string, Entry>): Generator<Item> {
  const used = new Set<string>();
  const written = new Set<string>();
  for (const [id, { kind, key, object }] of entries) {
    if (kind.kind === 'Namespace') written.add(key);
    else if (object.metadata.namespace !== undefined) used.add(object.metadata.namespace);
    const complete = kind.kind === 'Namespace' ? withNameLabel(object) : object;
    yield { id, kind: kind.kind, key, object: complete, counted: kind.hasGeneration };
  }
  for (const name of used) if (!written.has(name)) yield implied('Namespace', implicitNamespace(name));
  yield implied('CustomResourceDefinition', gatewayApiCrd);
}

const implied = (kind: KindName, object: KubeObject): Item => {
  const { name } = object.metadata;
  return { id: `${kind}/${name}`, kind, key: name, object, counted: false };
};

const NAME_LABEL = 'kubernetes.io/metadata.name';

/** Selectors find a namespace by this label. */
function withNameLabel(namespace: KubeObject): KubeObject {
  const { name, labels } = namespace.metadata;
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, [NAME_LABEL]: name } } };
}

const implicitNamespace = (name: string): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { [NAME_LABEL]: name } },
});

const { version, channel, group } = gatewayApiBundle;

/** Tells which release of the Gateway API the folder is checked against. */
const gatewayApiCrd: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `gatewayclasses.${group}`,
    annotations: { [`${group}/bundle-version`]: version, [`${group}/channel`]: channel },
  },
};
