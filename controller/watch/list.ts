// Reads a whole collection page by page, all pages of one consistent version.
import type { KubeClient, KubeRequest } from '#controller/kube/client.ts';
import { isRecord } from '#controller/kube/json.ts';
import { BodyTooLarge } from '#controller/kube/lines.ts';

export interface ListLimits {
  /** Objects per page. Parsing a page blocks the loop, so the pages also keep probes and the renewal of the Lease on time. */
  readonly pageSize: number;
  readonly pageBytes: number;
  /** Longest silence, ms. */
  readonly idleMs: number;
}

export const defaultListLimits: ListLimits = { pageSize: 500, pageBytes: 64 << 20, idleMs: 30_000 };

/**
 * Hands over the items of each page and returns the resourceVersion from which to watch. No resourceVersion is sent: the answer is then
 * not older than the moment of asking, so time never runs backwards between two lists. Throws KubeError; 410 when the pages took
 * longer than the server keeps their version.
 */
export async function listAll(
  client: KubeClient,
  request: KubeRequest,
  onPage: (items: readonly unknown[]) => void,
  limits: ListLimits = defaultListLimits,
): Promise<string> {
  let { pageSize } = limits;
  let next: string | undefined;
  for (;;) {
    const query = { ...request.query, limit: String(pageSize), continue: next };
    let page: Page;
    try {
      page = readPage(await client.json({ ...request, query, idleMs: limits.idleMs, maxBytes: limits.pageBytes }));
    } catch (error) {
      if (!(error instanceof BodyTooLarge) || pageSize === 1) throw error;
      // Huge objects: fewer at once, so that the memory needed does not grow with them.
      pageSize = Math.max(1, Math.floor(pageSize / 4));
      continue;
    }
    onPage(page.items);
    if (page.next === '') return page.resourceVersion;
    ({ next } = page);
  }
}

interface Page {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  /** Empty on the last page. */
  readonly next: string;
}

function readPage(body: unknown): Page {
  const metadata = isRecord(body) ? body['metadata'] : undefined;
  const items = isRecord(body) ? (body['items'] ?? []) : undefined;
  if (!isRecord(metadata) || typeof metadata['resourceVersion'] !== 'string' || metadata['resourceVersion'] === '') {
    throw new Error('the answer to a list has no metadata.resourceVersion');
  }
  if (!Array.isArray(items)) throw new Error('the answer to a list has no items');
  const token = metadata['continue'];
  return { items, resourceVersion: metadata['resourceVersion'], next: typeof token === 'string' ? token : '' };
}
