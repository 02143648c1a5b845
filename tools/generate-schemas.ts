// Writes the Gateway API schemas that the folder source validates with, out of the CRDs that `npm run tools` fetches. A machine without
// those tools uses the committed files.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { load } from 'js-yaml';
import { format } from 'oxfmt';
import type { StructuralSchema } from '#controller/api/structural.ts';
import { runGenerator, type GeneratedFolder } from './generated-files.ts';
import { buildHint, gatewayApiCrds } from './tool-paths.ts';

/** The experimental channel is a superset: it has the fields that a standard installation drops. */
const CHANNEL = 'experimental';
const GROUP = 'gateway.networking.k8s.io';
const PLURALS = ['backendtlspolicies', 'gatewayclasses', 'gateways', 'grpcroutes', 'httproutes', 'listenersets', 'referencegrants'];

interface Crd {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly schema: { readonly openAPIV3Schema: StructuralSchema };
    }[];
  };
}

/** The files for the folder `target`, from the folder of CRDs `crds`. */
export async function gatewayApiSchemas(target: string, crds: string): Promise<GeneratedFolder> {
  const files = new Map<string, string>();
  for (const plural of PLURALS) {
    const crd = load(readFileSync(path.join(crds, `${GROUP}_${plural}.yaml`), 'utf8')) as Crd;
    const name = `${plural}.json`;
    const { code, errors } = await format(name, JSON.stringify(bundled(crd)), { printWidth: 140 });
    if (errors.length > 0) throw new Error(`${name}: ${errors[0]?.message ?? ''}`);
    files.set(name, code);
  }
  return { folder: target, extension: '.json', files };
}

function bundled(crd: Crd): object {
  const { group, scope, names, versions } = crd.spec;
  const served = versions.filter((version) => version.served);
  const schemas = served.map((version) => compact(version.schema.openAPIV3Schema));
  if (!schemas.every((schema) => isDeepStrictEqual(schema, schemas[0])))
    throw new Error(`${names.kind}: its versions differ in their schemas`);
  const annotation = (name: string): string | undefined => crd.metadata.annotations[`${GROUP}/${name}`];
  return {
    about: 'Made by tools/generate-schemas.ts from the Gateway API CRDs (The Kubernetes Authors, Apache-2.0) without their descriptions.',
    bundleVersion: annotation('bundle-version'),
    channel: annotation('channel'),
    group,
    kind: names.kind,
    plural: names.plural,
    scope,
    versions: served.map(({ name }) => name).sort(),
    schema: schemas[0],
  };
}

/** Without descriptions and without status, which a folder does not carry. */
function compact(root: StructuralSchema): StructuralSchema {
  const properties = Object.entries(root.properties ?? {}).filter(([name]) => name !== 'status');
  return withoutDescriptions({ ...root, properties: Object.fromEntries(properties) });
}

function withoutDescriptions({ description: _description, ...schema }: StructuralSchema): StructuralSchema {
  const each = (map: Readonly<Record<string, StructuralSchema>>): Record<string, StructuralSchema> =>
    Object.fromEntries(Object.entries(map).map(([name, child]) => [name, withoutDescriptions(child)]));
  return {
    ...schema,
    ...(schema.properties ? { properties: each(schema.properties) } : {}),
    ...(schema.items ? { items: withoutDescriptions(schema.items) } : {}),
    ...(typeof schema.additionalProperties === 'object' ? { additionalProperties: withoutDescriptions(schema.additionalProperties) } : {}),
  };
}

if (import.meta.main) {
  const crds = gatewayApiCrds(CHANNEL);
  if (crds === null) {
    console.error(buildHint(['gateway-api-crds']));
    process.exitCode = 1;
  } else {
    const target = path.join(import.meta.dirname, '..', 'controller', 'watch', 'folder', 'schemas');
    process.exitCode = runGenerator(await gatewayApiSchemas(target, crds), process.argv.slice(2), 'tools/generate-schemas.ts');
  }
}
