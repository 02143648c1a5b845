// One piece of decoded YAML → an object as the API server would store it, or what is wrong with it. Pure.
import type { KubeObject } from '#controller/api/core.ts';
import type { ObjectRef } from '#controller/api/ref.ts';
import { Findings, nearest, quote, type Finding } from './finding.ts';
import { folderKinds, type FolderKind } from './kinds.ts';
import { isObject, readMetadata } from './metadata.ts';
import { ruleCheck, type RuleCheck } from './rules.ts';
import { settle } from './settle.ts';
import { shapeCheck, type ShapeCheck } from './shape.ts';

export type Verdict =
  | { readonly outcome: 'object'; readonly kind: FolderKind; readonly object: KubeObject }
  /** Not ours, like the Deployment beside a Service: `what` names it. */
  | { readonly outcome: 'ignored'; readonly what: string }
  | {
      readonly outcome: 'refused';
      /** null when the object cannot be told from others. */
      readonly ref: ObjectRef | null;
      readonly findings: readonly Finding[];
      /** Findings beyond those in the list. */
      readonly more: number;
    };

interface Checks {
  readonly shape: ShapeCheck;
  readonly rules: RuleCheck;
}

const checks = new Map<FolderKind, Checks>(
  folderKinds.map((kind) => [kind, { shape: shapeCheck(kind.schema, kind.secret), rules: ruleCheck(kind.schema) }]),
);

/** Takes over `value` and changes it. */
export function validate(value: unknown): Verdict {
  const findings = new Findings();
  const kind = classify(value, findings);
  if (kind === null) return refused(null, findings);
  if (typeof kind === 'string') return { outcome: 'ignored', what: kind };
  const object = value as Record<string, unknown>;
  const metadata = readMetadata(object['metadata'], kind, findings);
  const ref = metadata.name === '' ? null : { kind: kind.kind, namespace: metadata.namespace ?? '', name: metadata.name };
  // The API server ignores the status of an object that is created.
  delete object['status'];
  object['metadata'] = metadata;
  settle(object, kind.schema, [], findings);
  // Rules may rely on the shape, and the shape on what has been settled.
  if (findings.isEmpty) checks.get(kind)?.shape(object, findings);
  if (findings.isEmpty) checks.get(kind)?.rules(object, findings);
  if (!findings.isEmpty) return refused(ref, findings);
  return { outcome: 'object', kind, object: stored(object, kind) };
}

const refused = (ref: ObjectRef | null, { list, more }: Findings): Verdict => ({ outcome: 'refused', ref, findings: list, more });

/** The form in which a server would hand the object out. */
function stored(object: Record<string, unknown>, kind: FolderKind): KubeObject {
  object['apiVersion'] = apiVersionOf(kind, kind.versions[0] ?? '');
  const { stringData, ...rest } = object;
  if (!kind.secret || !isObject(stringData)) return object as unknown as KubeObject;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')]);
  return {
    ...rest,
    data: { ...(rest['data'] as object | undefined), ...(Object.fromEntries(encoded) as object) },
  } as unknown as KubeObject;
}

const apiVersionOf = ({ group }: FolderKind, version: string): string => (group === '' ? version : `${group}/${version}`);

/** Kinds of the groups that we read which are none of ours: no misspelling of one that is. */
const OTHERS = new Set(['TLSRoute', 'TCPRoute', 'UDPRoute', 'EndpointSliceList', 'Endpoints', 'ServiceAccount']);

/** The kind; or what to call an object that is not for us; or null, and findings say why it is no object at all. */
function classify(value: unknown, findings: Findings): FolderKind | string | null {
  if (!isObject(value)) {
    findings.add([], 'a document must be an object with apiVersion, kind and metadata', 'value');
    return null;
  }
  const { apiVersion, kind: name } = value;
  for (const field of ['apiVersion', 'kind'] as const) {
    if (value[field] === undefined || value[field] === null) findings.add([field], 'is required');
    else if (typeof value[field] !== 'string') findings.add([field], 'must be text (put it in quotes)', 'value');
  }
  if (typeof apiVersion !== 'string' || typeof name !== 'string') return null;
  const slash = apiVersion.lastIndexOf('/');
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  const sameKind = folderKinds.find((row) => row.kind === name);
  const inGroup = folderKinds.filter((row) => row.group === group);
  if (sameKind?.group === group) {
    if (sameKind.versions.includes(version)) return sameKind;
    findings.add(
      ['apiVersion'],
      `${name} has no version ${quote(version)} here; write ${apiVersionOf(sameKind, sameKind.versions[0] ?? '')}`,
      'value',
    );
    return null;
  }
  if (sameKind !== undefined && nearest(group, [sameKind.group]) !== null) {
    findings.add(['apiVersion'], `unknown group; did you mean ${quote(apiVersionOf(sameKind, sameKind.versions[0] ?? ''))}?`, 'value');
    return null;
  }
  const meant = OTHERS.has(name)
    ? null
    : nearest(
        name,
        inGroup.map((row) => row.kind),
      );
  if (meant !== null) {
    findings.add(['kind'], `unknown kind; did you mean ${quote(meant)}?`, 'value');
    return null;
  }
  return `${name.slice(0, 100)} (${apiVersion.slice(0, 100)})`;
}

/** What a list object holds, with the index of each item; null for anything but a list. */
export function listItems(value: unknown): readonly unknown[] | null {
  if (!isObject(value) || typeof value['kind'] !== 'string' || !value['kind'].endsWith('List')) return null;
  return Array.isArray(value['items']) ? value['items'] : null;
}
