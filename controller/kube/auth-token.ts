// The token that controller and proxies share: read from its Secret, or made there once when the controller may.
import { randomBytes } from 'node:crypto';
import type { KubeClient } from './client.ts';
import { describeError, statusOf } from './errors.ts';

export interface AuthSecretRef {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  /** Create it when it is absent. The proxies wait for it: their pods mount it. */
  readonly generate: boolean;
}

/** The token, or why there is none. An existing Secret is used as it is, whoever made it. */
export async function sharedAuthToken(
  client: KubeClient,
  ref: AuthSecretRef,
): Promise<{ readonly token: string } | { readonly error: string }> {
  const where = `Secret ${ref.namespace}/${ref.name}`;
  try {
    return tokenOf(await read(client, ref), ref, where);
  } catch (error) {
    if (statusOf(error) !== 404) return { error: `cannot read ${where}: ${describeError(error)}` };
    if (!ref.generate) return { error: `${where} does not exist; it must hold the proxies' auth token under the key ${ref.key}` };
  }
  try {
    return tokenOf(await create(client, ref), ref, where);
  } catch (error) {
    // Another replica was faster.
    if (statusOf(error) === 409) return tokenOf(await read(client, ref), ref, where);
    return { error: `cannot create ${where}: ${describeError(error)}` };
  }
}

interface StoredSecret {
  readonly data?: Readonly<Record<string, string>>;
}

const pathOf = ({ namespace }: AuthSecretRef): string => `/api/v1/namespaces/${namespace}/secrets`;

async function read(client: KubeClient, ref: AuthSecretRef): Promise<StoredSecret> {
  return (await client.json({ method: 'GET', path: `${pathOf(ref)}/${ref.name}` })) as StoredSecret;
}

async function create(client: KubeClient, ref: AuthSecretRef): Promise<StoredSecret> {
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: ref.name,
      namespace: ref.namespace,
      labels: { 'app.kubernetes.io/managed-by': 'cloudflare-tunnel-gateway-controller' },
    },
    type: 'Opaque',
    data: { [ref.key]: Buffer.from(randomBytes(32).toString('hex')).toString('base64') },
  };
  return (await client.json({ method: 'POST', path: pathOf(ref), body })) as StoredSecret;
}

function tokenOf(secret: StoredSecret, ref: AuthSecretRef, where: string): { readonly token: string } | { readonly error: string } {
  const token = Buffer.from(secret.data?.[ref.key] ?? '', 'base64')
    .toString('utf8')
    .trim();
  return token === '' ? { error: `${where} has no value under the key ${ref.key}` } : { token };
}
