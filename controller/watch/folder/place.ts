// Where a field stands in the text of a document: parses once more, which only errors pay for. Pure.
import { EVENT_ID, getScalarValue, parseEvents } from 'js-yaml';
import type { Event } from 'js-yaml';

/** Field names and list indices from the root of a document. */
export type FieldPath = readonly (string | number)[];

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Finds fields in one document; the text is parsed when the first one is asked for. */
export class Places {
  readonly #text: string;
  #events: readonly Event[] | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * The place of the deepest part of `path` that is there; a field that is missing is reported at the object that lacks it. `key` points at the
   * name of the field, `value` at its value.
   */
  of(path: FieldPath, what: 'key' | 'value'): Place {
    try {
      this.#events ??= parseEvents(this.#text, {});
      return placeOfOffset(this.#text, offsetOf(this.#text, this.#events, path, what));
    } catch {
      return { line: 1, column: 1 };
    }
  }
}

export function placeOfOffset(text: string, offset: number): Place {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next !== -1 && next < offset; next = text.indexOf('\n', next + 1)) {
    line++;
    start = next + 1;
  }
  return { line, column: offset - start + 1 };
}

function offsetOf(text: string, events: readonly Event[], path: FieldPath, what: 'key' | 'value'): number {
  let node = events.findIndex((event) => event.type !== EVENT_ID.DOCUMENT);
  let offset = startOf(events[node]);
  for (const segment of path) {
    const child = typeof segment === 'number' ? itemAt(events, node, segment) : entryAt(text, events, node, segment);
    if (child === null) break;
    node = child.value;
    offset = startOf(events[what === 'key' ? child.key : child.value]) || offset;
  }
  return offset;
}

interface Child {
  readonly key: number;
  readonly value: number;
}

function itemAt(events: readonly Event[], sequence: number, index: number): Child | null {
  if (events[sequence]?.type !== EVENT_ID.SEQUENCE) return null;
  let at = sequence + 1;
  for (let skipped = 0; events[at]?.type !== EVENT_ID.POP; skipped++) {
    if (skipped === index) return { key: at, value: at };
    at = afterNode(events, at);
  }
  return null;
}

function entryAt(text: string, events: readonly Event[], mapping: number, name: string): Child | null {
  if (events[mapping]?.type !== EVENT_ID.MAPPING) return null;
  for (let key = mapping + 1; events[key] !== undefined && events[key]?.type !== EVENT_ID.POP;) {
    const event = events[key];
    const value = afterNode(events, key);
    if (event?.type === EVENT_ID.SCALAR && getScalarValue(text, event) === name) return { key, value };
    key = afterNode(events, value);
  }
  return null;
}

/** Index of the event behind the node that begins at `at`. */
function afterNode(events: readonly Event[], at: number): number {
  let depth = 0;
  do {
    const type = events[at++]?.type;
    if (type === undefined) return at;
    if (type === EVENT_ID.SEQUENCE || type === EVENT_ID.MAPPING) depth++;
    else if (type === EVENT_ID.POP) depth--;
  } while (depth > 0);
  return at;
}

/** 0 for what has no text of its own, like the nothing behind `field:`. */
function startOf(event: Event | undefined): number {
  if (event === undefined) return 0;
  if (event.type === EVENT_ID.SCALAR) return Math.max(0, event.tagStart >= 0 ? event.tagStart : event.valueStart);
  if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING) return event.start;
  return event.type === EVENT_ID.ALIAS ? event.anchorStart : 0;
}
