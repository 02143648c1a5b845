// The head of a response on its way to the client: the route's edits, and what the client's connection needs. Pure.
import type { HeaderEdits } from '#proxy/table/types.ts';

/** Fields that decide where the message ends or what the connection becomes: no edit may take them away. */
const KEPT: ReadonlySet<string> = new Set(['content-length', 'sec-websocket-accept', 'sec-websocket-protocol', 'sec-websocket-extensions']);

/** Changes `fields` (flat name, value pairs) by a route's edits; returns the list to send. */
export function editResponse(fields: string[], edits: HeaderEdits | null): string[] {
  if (edits === null) return fields;
  const result = edits.removeMask === 0 ? fields : without(fields, edits);
  for (let i = 0; i < edits.append.length; i += 1) result.push(edits.append[i]!);
  return result;
}

function without(fields: readonly string[], edits: HeaderEdits): string[] {
  const { remove, removeMask } = edits;
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    if (((removeMask >>> (name.length & 31)) & 1) === 1) {
      const lower = name.toLowerCase();
      if (remove.has(lower) && !KEPT.has(lower)) continue;
    }
    kept.push(name, fields[i + 1]!);
  }
  return kept;
}
