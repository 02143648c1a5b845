// The events of one watch: a JSON document a line, some of them not about an object at all.
import { KubeError } from '#controller/kube/errors.ts';
import { isRecord, parseJson } from '#controller/kube/json.ts';
import { readLines } from '#controller/kube/lines.ts';

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: unknown }
  /** Nothing changed up to this version: where to resume. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  /** A line that cannot be read. What it told is unknown, so only a new list is right again. */
  | { readonly type: 'UNREADABLE'; readonly message: string };

/** The API server takes no object above 3 MiB; an event is the object and a few bytes. */
const LONGEST_LINE = 32 << 20;

/** Throws KubeError for an ERROR event: the server reports in a stream of status 200 that it cannot go on, for instance 410. */
export async function* watchEvents(source: AsyncIterable<Buffer>, maxLineBytes = LONGEST_LINE): AsyncGenerator<WatchEvent> {
  for await (const line of readLines(source, maxLineBytes)) {
    if (typeof line !== 'string') yield { type: 'UNREADABLE', message: `an event of ${line.oversizedBytes} bytes was skipped` };
    else yield readEvent(line);
  }
}

function readEvent(line: string): WatchEvent {
  const event = parsed(line);
  if (!isRecord(event)) return { type: 'UNREADABLE', message: 'an event that is not valid JSON was skipped' };
  const { type, object } = event;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object };
    case 'BOOKMARK': {
      const metadata = isRecord(object) ? object['metadata'] : undefined;
      const version = isRecord(metadata) ? metadata['resourceVersion'] : undefined;
      return typeof version === 'string' && version !== ''
        ? { type, resourceVersion: version }
        : { type: 'UNREADABLE', message: 'a bookmark without resourceVersion was skipped' };
    }
    case 'ERROR':
      throw new KubeError(isRecord(object) && typeof object['code'] === 'number' ? object['code'] : 500, object);
    default:
      return { type: 'UNREADABLE', message: 'an event of unknown type was skipped' };
  }
}

function parsed(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return null;
  }
}
