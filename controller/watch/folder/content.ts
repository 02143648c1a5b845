// What the bytes of one file say: objects, problems and what is not for us. Documents that did not change keep their objects.
import { hash } from 'node:crypto';
import type { KubeObject } from '#controller/api/core.ts';
import { formatRef, keyOf, type Key, type ObjectRef } from '#controller/api/ref.ts';
import { decodeDocument } from './decode.ts';
import { splitDocuments } from './documents.ts';
import { formatPath, quote, type Finding } from './finding.ts';
import type { FolderKind } from './kinds.ts';
import type { Pause } from './pacer.ts';
import { Places, type FieldPath, type Place } from './place.ts';
import { listItems, validate } from './validate.ts';

export interface Entry {
  readonly kind: FolderKind;
  readonly key: Key;
  /** As written and completed, without what a server would add. The same object as long as its document has the same bytes. */
  readonly object: KubeObject;
  /** Line of the document in the file. */
  readonly line: number;
}

export interface ContentProblem {
  readonly place: Place;
  readonly message: string;
  /** The object that is wrong; null when it cannot be told which. */
  readonly ref: ObjectRef | null;
}

export interface Content {
  readonly entries: readonly Entry[];
  readonly problems: readonly ContentProblem[];
  /** Objects of kinds that are not for us, as people name them. */
  readonly ignored: readonly string[];
  readonly documents: DocumentCache;
  /** Not even a comment. */
  readonly isBlank: boolean;
}

/** Findings by the digest of a document's bytes. */
export type DocumentCache = ReadonlyMap<string, DocumentResult>;

/** Lines count from the document's own first line. */
interface DocumentResult {
  readonly objects: readonly { readonly kind: FolderKind; readonly key: Key; readonly object: KubeObject }[];
  readonly problems: readonly ContentProblem[];
  readonly ignored: readonly string[];
  /** Line of the first field. */
  readonly head: number;
}

export interface ContentLimits {
  readonly fileBytes: number;
  readonly documentBytes: number;
  readonly documents: number;
}

/** An object of more than 1.5 MiB does not fit into the database of an API server either. */
export const defaultLimits: ContentLimits = { fileBytes: 64 * 2 ** 20, documentBytes: 1.5 * 2 ** 20, documents: 200_000 };

export const formatBytes = (bytes: number): string =>
  bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;

export async function readContent(file: Buffer, previous: DocumentCache, limits: ContentLimits, pause: Pause): Promise<Content> {
  const documents = new Map<string, DocumentResult>();
  const entries: Entry[] = [];
  const problems: ContentProblem[] = [];
  const ignored = new Set<string>();
  let count = 0;
  for (const { bytes, line } of splitDocuments(file)) {
    if (++count > limits.documents) {
      problems.push(limitProblem(`has more than ${limits.documents} documents; what follows is not read. Split the file`, line));
      break;
    }
    const digest = hash('sha256', bytes, 'base64');
    const known = documents.get(digest) ?? previous.get(digest);
    const result = known ?? (await readDocument(bytes, limits, pause));
    documents.set(digest, result);
    for (const object of result.objects) entries.push({ ...object, line: line - 1 + result.head });
    for (const problem of result.problems) problems.push({ ...problem, place: { ...problem.place, line: line - 1 + problem.place.line } });
    for (const what of result.ignored) ignored.add(what);
    const rest = pause();
    if (rest !== null) await rest;
  }
  const isBlank = file.length < 1024 && file.toString('latin1').trim() === '';
  return { entries, problems: firstProblems(problems), ignored: [...ignored], documents, isBlank };
}

/** Of one file. Nobody reads more, and a file with hundreds of thousands must not flood whoever listens. */
const MOST_FILE_PROBLEMS = 100;

function firstProblems(problems: readonly ContentProblem[]): readonly ContentProblem[] {
  const next = problems[MOST_FILE_PROBLEMS];
  if (next === undefined) return problems;
  const message = `from here on ${problems.length - MOST_FILE_PROBLEMS} more problems of this file are not listed`;
  return [...problems.slice(0, MOST_FILE_PROBLEMS), { place: next.place, message, ref: null }];
}

const limitProblem = (message: string, line: number): ContentProblem => ({ place: { line, column: 1 }, message, ref: null });

const onlyProblem = (problem: ContentProblem, head = 1): DocumentResult => ({ objects: [], problems: [problem], ignored: [], head });

async function readDocument(bytes: Uint8Array, limits: ContentLimits, pause: Pause): Promise<DocumentResult> {
  if (bytes.length > limits.documentBytes) {
    const hint = 'a list of objects can be split into several documents';
    return onlyProblem(
      limitProblem(`the document has ${formatBytes(bytes.length)}, at most ${formatBytes(limits.documentBytes)} are allowed; ${hint}`, 1),
    );
  }
  const text = utf8(bytes);
  if (text === null) return onlyProblem(limitProblem('is not UTF-8 text', 1));
  const decoded = decodeDocument(text);
  if ('error' in decoded) return onlyProblem({ place: decoded.place, message: decoded.error, ref: null });
  if (decoded.value === undefined || decoded.value === null) return { objects: [], problems: [], ignored: [], head: 1 };
  return judge(text, decoded.value, pause);
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Comments, blank lines and the marker before the first field. */
const HEAD = /^(?:---[ \t]*(?:#[^\n]*)?\r?\n|[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*/;

async function judge(text: string, value: unknown, pause: Pause): Promise<DocumentResult> {
  const head = (HEAD.exec(text)?.[0].split('\n').length ?? 1) || 1;
  const items = listItems(value);
  const parts: readonly (readonly [unknown, FieldPath])[] =
    items === null ? [[value, []]] : items.map((item, index) => [item, ['items', index]]);
  const objects: { kind: FolderKind; key: Key; object: KubeObject }[] = [];
  const problems: ContentProblem[] = [];
  const ignored: string[] = [];
  const places = new Places(text);
  let unreported = 0;
  for (const [part, path] of parts) {
    const verdict = validate(part);
    if (verdict.outcome === 'ignored') ignored.push(verdict.what);
    else if (verdict.outcome === 'object') {
      const { kind, object } = verdict;
      objects.push({ kind, key: keyOf(object.metadata.namespace, object.metadata.name), object });
    } else if (problems.length < MOST_PROBLEMS) {
      const found = verdict.findings.map((finding) => findingProblem(places, finding, path, verdict.ref));
      const last = found.at(-1);
      if (verdict.more > 0 && last !== undefined)
        found[found.length - 1] = { ...last, message: `${last.message} (and ${verdict.more} more)` };
      problems.push(...found);
    } else unreported++;
    const rest = pause();
    if (rest !== null) await rest;
  }
  if (unreported > 0) problems.push(limitProblem(`${unreported} more objects of this list are wrong as well`, head));
  return { objects, problems, ignored, head };
}

/** Of a list of objects: nobody reads more, and each costs a look through the text. */
const MOST_PROBLEMS = 20;

function findingProblem(places: Places, { path, at, message }: Finding, prefix: FieldPath, ref: ObjectRef | null): ContentProblem {
  const where = [...prefix, ...path];
  const field = formatPath(ref === null ? where : path);
  const subject = [ref === null ? '' : formatShort(ref), field].filter((part) => part !== '').join(': ');
  return { place: places.of(where, at), message: subject === '' ? message : `${subject}: ${message}`, ref };
}

/** A refused name may be as long as the document. */
const formatShort = (ref: ObjectRef): string => (ref.name.length > 253 ? `${ref.kind} ${quote(ref.name)}` : formatRef(ref));
