// A list of filters, sorted by what they do to an exchange.
import type { FilterConfig, HeaderModifier, PathModifier } from '#proxy/config/schema.ts';
import type { PathEdit, RedirectPlan, RewritePlan } from '#proxy/table/types.ts';

/** Modifiers keep their order: edits of a rule and a backend are merged later. */
export interface FilterPlan {
  readonly request: readonly HeaderModifier[];
  readonly response: readonly HeaderModifier[];
  readonly redirect: RedirectPlan | null;
  readonly rewrite: RewritePlan | null;
}

export function planFilters(filters: readonly FilterConfig[]): FilterPlan {
  const request: HeaderModifier[] = [];
  const response: HeaderModifier[] = [];
  let redirect: RedirectPlan | null = null;
  let rewrite: RewritePlan | null = null;
  for (const filter of filters) {
    if (filter.type === 'RequestHeaderModifier') request.push(filter.modifier);
    else if (filter.type === 'ResponseHeaderModifier') response.push(filter.modifier);
    else if (filter.type === 'URLRewrite') rewrite = Object.freeze({ hostname: filter.hostname ?? null, path: pathEdit(filter.path) });
    else {
      redirect = Object.freeze({
        scheme: filter.scheme ?? null,
        hostname: filter.hostname ?? null,
        port: filter.port ?? 0,
        path: pathEdit(filter.path),
        statusCode: filter.statusCode,
      });
    }
  }
  return { request, response, redirect, rewrite };
}

/** A backend's rewrite on top of its rule's: what it does not name, the rule's says. */
export function mergeRewrites(rule: RewritePlan | null, backend: RewritePlan | null): RewritePlan | null {
  if (rule === null || backend === null) return backend ?? rule;
  return Object.freeze({ hostname: backend.hostname ?? rule.hostname, path: backend.path ?? rule.path });
}

function pathEdit(path: PathModifier | undefined): PathEdit | null {
  return path === undefined ? null : Object.freeze({ type: path.type, value: path.value });
}
