// What pods refer to by name: Secrets, ConfigMaps, and tokens of their ServiceAccount.
import type { KubeClient } from '#controller/kube/client.ts';
import type { Changes } from './changes.ts';
import type { Collection } from './collection.ts';
import type { ConfigMap, NameRef, Pod, Secret } from './types.ts';

/** What a pod needs is not there (yet): it waits, and its status says for what. */
export class MissingReference extends Error {
  override readonly name = 'MissingReference';
}

export type Data = Readonly<Record<string, Buffer>>;

/** What the environment and the volumes of pods are made of. */
export interface References {
  /** Any of them changed: what was missing may be there. */
  readonly changes: Pick<Changes, 'next' | 'subscribe'>;
  readonly secrets: Pick<Collection<Secret>, 'get'>;
  readonly configMaps: Pick<Collection<ConfigMap>, 'get'>;
}

export function secretData({ secrets }: References, namespace: string, ref: NameRef): Data {
  const secret = secrets.get(`${namespace}/${ref.name}`);
  if (secret !== undefined) return decoded(secret.data, 'base64');
  return absent(`Secret ${namespace}/${ref.name}`, ref);
}

export function configMapData({ configMaps }: References, namespace: string, ref: NameRef): Data {
  const configMap = configMaps.get(`${namespace}/${ref.name}`);
  if (configMap !== undefined) return { ...decoded(configMap.data, 'utf8'), ...decoded(configMap.binaryData, 'base64') };
  return absent(`ConfigMap ${namespace}/${ref.name}`, ref);
}

function decoded(data: Readonly<Record<string, string>> = {}, encoding: BufferEncoding): Data {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)]));
}

function absent(what: string, { optional }: NameRef): Data {
  if (optional === true) return {};
  throw new MissingReference(`${what} not found`);
}

/** The value of a key; undefined when it is absent and may be. */
export function valueOf(data: Data, ref: NameRef & { readonly key: string }): Buffer | undefined {
  const value = data[ref.key];
  if (value === undefined && ref.optional !== true) throw new MissingReference(`${ref.name} has no key ${ref.key}`);
  return value;
}

export interface TokenRequest {
  readonly audience?: string;
  readonly expirationSeconds?: number;
}

const DEFAULT_LIFETIME_SECONDS = 3600;
/** A kubelet renews a token when this part of its life is over. */
const FRESH_PART = 0.8;

/** Tokens of one pod's ServiceAccount, valid as long as the pod is. */
export class PodTokens {
  readonly #client: KubeClient;
  readonly #pod: Pod;
  readonly #issued = new Map<string, { readonly token: Buffer; readonly renewAt: number }>();

  constructor(client: KubeClient, pod: Pod) {
    this.#client = client;
    this.#pod = pod;
  }

  /** When the first of the tokens should be renewed; infinite when there is none. */
  get renewAt(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.#issued.values()].map(({ renewAt }) => renewAt));
  }

  async token(request: TokenRequest): Promise<Buffer> {
    const key = JSON.stringify(request);
    const known = this.#issued.get(key);
    if (known !== undefined && Date.now() < known.renewAt) return known.token;
    const expirationSeconds = request.expirationSeconds ?? DEFAULT_LIFETIME_SECONDS;
    const token = Buffer.from(await this.#issue({ ...request, expirationSeconds }));
    this.#issued.set(key, { token, renewAt: Date.now() + expirationSeconds * FRESH_PART * 1000 });
    return token;
  }

  async #issue({ audience, expirationSeconds }: TokenRequest): Promise<string> {
    const { metadata, spec } = this.#pod;
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds,
        ...(audience === undefined ? {} : { audiences: [audience] }),
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid },
      },
    };
    const path = `/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${spec.serviceAccountName ?? 'default'}/token`;
    const answer = await this.#client.json({ method: 'POST', path, body });
    return (answer as { readonly status: { readonly token: string } }).status.token;
  }
}
