// Before a Gateway's tunnel is deleted: is the Gateway really gone by a second, fresh look at everything?
import type { Key } from '#controller/api/ref.ts';
import type { Settings } from '#controller/api/settings.ts';
import type { Source } from '#controller/watch/source.ts';
import { complete } from './confirm-shrink.ts';

/** Those of the Gateways that `fresh` does not have. A look that cannot be completed, or that Gateways are no part of, confirms nothing. */
export async function confirmGone(gateways: readonly Key[], fresh: Source, settings: Settings): Promise<ReadonlySet<Key>> {
  try {
    if (!(await complete(fresh, settings))) return new Set();
    const { objects, served } = fresh.snapshot();
    return new Set(served.has('Gateway') ? gateways.filter((key) => !objects.Gateway.has(key)) : []);
  } finally {
    await fresh.stop();
  }
}
