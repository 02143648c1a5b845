// Who may enter the test cluster: keys, tokens and the kubeconfig files made of them. Everything secret is in files of mode 0600.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ApiAccess } from './api-client.ts';

export interface Credentials {
  /** A member of system:masters for the tests and for people. */
  readonly adminToken: string;
  /** The same rights under a name of its own, so that it can be told apart in the server's log. */
  readonly controllerManagerToken: string;
  readonly tokenFile: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
}

export function createCredentials(folder: string): Credentials {
  const credentials = {
    adminToken: randomBytes(24).toString('hex'),
    controllerManagerToken: randomBytes(24).toString('hex'),
    tokenFile: path.join(folder, 'tokens.csv'),
    serviceAccountKey: path.join(folder, 'service-account.key'),
    serviceAccountPublicKey: path.join(folder, 'service-account.pub'),
  };
  const { adminToken, controllerManagerToken } = credentials;
  const lines = [
    `${adminToken},admin,admin,"system:masters"`,
    `${controllerManagerToken},system:kube-controller-manager,kcm,"system:masters"`,
  ];
  writeFileSync(credentials.tokenFile, `${lines.join('\n')}\n`, { mode: 0o600 });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(credentials.serviceAccountKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(credentials.serviceAccountPublicKey, publicKey.export({ type: 'spki', format: 'pem' }), { mode: 0o600 });
  return credentials;
}

/** Writes a kubeconfig that needs no other file, and gives its path. JSON is YAML. */
export function writeKubeconfig(file: string, { server, ca, token }: ApiAccess, namespace = 'default'): string {
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace } }],
    'current-context': 'test',
  };
  writeFileSync(file, `${JSON.stringify(kubeconfig, null, 2)}\n`, { mode: 0o600 });
  return file;
}
