// Applies folders of CRDs (and the admission policies that ship beside them) and waits until every kind is really served.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { loadAll } from 'js-yaml';
import { apiRequest, refusal, type ApiAccess } from './api-client.ts';
import { until } from './until.ts';

/** The fields of a manifest and of its stored state that are read here. */
interface Manifest {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name?: string };
}

interface Crd extends Manifest {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const collections: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
};

/** A folder that does not exist holds nothing. Resolves with the number of kinds served. */
export async function applyCrds(access: ApiAccess, folders: readonly string[], signal: AbortSignal): Promise<number> {
  const manifests = folders.filter((folder) => existsSync(folder)).flatMap(readFolder);
  const applied = await Promise.all(manifests.map((manifest) => applyManifest(access, manifest, signal)));
  const names = applied.filter(({ kind }) => kind === 'CustomResourceDefinition').map(({ metadata }) => metadata?.name ?? '');
  await Promise.all(names.map((name) => isServed(access, name, signal)));
  return names.length;
}

function readFolder(folder: string): readonly (readonly [string, Manifest])[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  return files.flatMap((file) => {
    const documents = loadAll(readFileSync(path.join(folder, file), 'utf8')) as readonly (Manifest | null)[];
    return documents.filter((document) => document !== null).map((document) => [path.join(folder, file), document] as const);
  });
}

async function applyManifest(access: ApiAccess, [file, manifest]: readonly [string, Manifest], signal: AbortSignal): Promise<Manifest> {
  const collection = collections[manifest.kind ?? ''];
  const name = manifest.metadata?.name;
  if (collection === undefined || name === undefined) throw new Error(`${file}: a ${manifest.kind ?? 'document without kind'} is no CRD`);
  const address = `${collection}/${encodeURIComponent(name)}?fieldManager=test-cluster&force=true`;
  const response = await apiRequest(access, 'PATCH', address, { body: manifest, contentType: 'application/apply-patch+yaml', signal });
  if (response.status >= 300) throw new Error(`${file}: the API server refuses ${name}: ${refusal(response)}`);
  return manifest;
}

// A kind answers 404 for a moment after its CRD became Established, so the kind itself is asked as well.
async function isServed(access: ApiAccess, name: string, signal: AbortSignal): Promise<void> {
  await until(`CRD ${name} is served`, signal, async () => {
    const { body } = await apiRequest(access, 'GET', `${collections['CustomResourceDefinition']}/${name}`, { signal });
    const { spec, status } = body as Crd;
    if (!status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')) return false;
    const lists = spec.versions
      .filter(({ served }) => served)
      .map((version) => `/apis/${spec.group}/${version.name}/${spec.names.plural}?limit=1`);
    const answers = await Promise.all(lists.map((list) => apiRequest(access, 'GET', list, { signal })));
    return answers.every((answer) => answer.status === 200);
  });
}
