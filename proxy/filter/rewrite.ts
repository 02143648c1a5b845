// URLRewrite: the path that the backend sees.
import type { RewritePlan } from '#proxy/table/types.ts';
import { editPath } from './path-edit.ts';

/** `path` as it arrived, without query; `prefix` of the arm that matched. The result is never empty and begins with `/`. */
export function rewritePath(plan: RewritePlan, path: string, prefix: string | null): string {
  return plan.path === null ? path : editPath(plan.path, path, prefix);
}
