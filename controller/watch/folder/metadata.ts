// Object metadata by the rules of the API server. Pure.
import type { ObjectMeta } from '#controller/api/core.ts';
import { nearest, quote, type Findings } from './finding.ts';
import type { FolderKind } from './kinds.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Fields of ObjectMeta: those that we keep first, then those that the API server owns, which a file may carry from an export. */
const KNOWN = [
  'name',
  'namespace',
  'labels',
  'annotations',
  'creationTimestamp',
  'generateName',
  'uid',
  'resourceVersion',
  'generation',
  'selfLink',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
  'finalizers',
  'managedFields',
];

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * What we keep of an object's metadata; findings tell what is wrong. A creation time in the file counts, so that precedence between objects
 * can be written down; everything else that a server would set is left out.
 */
export function readMetadata(metadata: unknown, kind: FolderKind, findings: Findings): ObjectMeta {
  if (!isObject(metadata)) {
    findings.add(['metadata'], 'is required, with a name');
    return { name: '' };
  }
  for (const field of Object.keys(metadata)) if (!KNOWN.includes(field)) findings.add(['metadata', field], unknownField(field));
  checkName(metadata['name'], kind, findings);
  const namespace = readNamespace(metadata['namespace'], kind, findings);
  const labels = readTexts('labels', metadata['labels'], findings);
  const annotations = readTexts('annotations', metadata['annotations'], findings);
  for (const [key, value] of Object.entries(labels)) checkLabel(key, value, findings);
  for (const key of Object.keys(annotations)) checkKey('annotations', key, key.toLowerCase(), findings);
  checkAnnotationSize(annotations, findings);
  const created = metadata['creationTimestamp'];
  return {
    name: String(metadata['name']),
    ...(namespace === null ? {} : { namespace }),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    ...(typeof created === 'string' && isTimestamp(created) ? { creationTimestamp: created } : {}),
  };
}

const isTimestamp = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const isLabel = (text: string): boolean => text.length <= 63 && LABEL.test(text);
const isSubdomain = (text: string): boolean => text.length <= 253 && text.split('.').every((part) => LABEL.test(part));

const LABEL_RULE = 'must be a DNS label: lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit';
const SUBDOMAIN_RULE =
  'must be a DNS name: lower-case letters, digits, dashes and dots, at most 253, each part beginning and ending with a letter or digit';

function checkName(name: unknown, kind: FolderKind, findings: Findings): void {
  const path = ['metadata', 'name'];
  if (name === undefined || name === null || name === '') findings.add(path, 'is required');
  else if (typeof name !== 'string') findings.add(path, 'must be text (put it in quotes)', 'value');
  else if (kind.names === 'label' && !isLabel(name)) findings.add(path, `${LABEL_RULE}; is ${quote(name)}`, 'value');
  else if (!isSubdomain(name)) findings.add(path, `${SUBDOMAIN_RULE}; is ${quote(name)}`, 'value');
}

/** null for cluster-scoped kinds; `default` where nothing is said, as for kubectl. */
function readNamespace(namespace: unknown, kind: FolderKind, findings: Findings): string | null {
  const path = ['metadata', 'namespace'];
  const given = namespace === undefined || namespace === null || namespace === '' ? null : namespace;
  if (!kind.namespaced) {
    if (given !== null) findings.add(path, `a ${kind.kind} belongs to no namespace; remove it`);
    return null;
  }
  if (given === null) return 'default';
  if (typeof given !== 'string') {
    findings.add(path, 'must be text (put it in quotes)', 'value');
    return 'default';
  }
  if (!isLabel(given)) findings.add(path, `${LABEL_RULE}; is ${quote(given)}`, 'value');
  return given;
}

/** Labels or annotations as they are, without those that are no text (which are reported). */
function readTexts(field: 'labels' | 'annotations', value: unknown, findings: Findings): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) {
    findings.add(['metadata', field], 'must be an object of names and texts');
    return {};
  }
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(value)) {
    if (typeof text === 'string') texts[key] = text;
    // The API server reads a null as an empty text.
    else if (text === null) texts[key] = '';
    else findings.add(['metadata', field, key], 'must be text (put it in quotes)', 'value');
  }
  return texts;
}

const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

function checkKey(field: 'labels' | 'annotations', key: string, text: string, findings: Findings): void {
  const parts = text.split('/');
  const [prefix, name] = parts.length === 2 ? parts : [undefined, parts[0]];
  const isKey =
    parts.length <= 2 && name !== undefined && name.length <= 63 && QUALIFIED.test(name) && (prefix === undefined || isSubdomain(prefix));
  if (!isKey)
    findings.add(['metadata', field, key], 'is no valid key: [DNS name/]name, where name has letters, digits, -, _ and ., at most 63');
}

function checkLabel(key: string, value: string, findings: Findings): void {
  checkKey('labels', key, key, findings);
  if (value !== '' && (value.length > 63 || !QUALIFIED.test(value))) {
    findings.add(['metadata', 'labels', key], `a label's value has letters, digits, -, _ and ., at most 63; is ${quote(value)}`, 'value');
  }
}

const ANNOTATIONS_LIMIT = 256 * 1024;

function checkAnnotationSize(annotations: Readonly<Record<string, string>>, findings: Findings): void {
  const size = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (size > ANNOTATIONS_LIMIT)
    findings.add(['metadata', 'annotations'], `have ${size} characters together, at most ${ANNOTATIONS_LIMIT} are allowed`);
}

function unknownField(field: string): string {
  const meant = nearest(field, KNOWN);
  return meant === null ? 'unknown field' : `unknown field; did you mean ${quote(meant)}?`;
}
