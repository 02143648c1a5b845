// Which namespaces an object admits: `allowedRoutes.namespaces` of listeners and `allowedListeners.namespaces` of Gateways.
import * as cause from '../api/cause-listener.ts';
import type { Cause } from '../api/condition.ts';
import type { LabelSelector, Namespace } from '../api/core.ts';
import type { Key } from '../api/ref.ts';
import { fromLabelSelector, selects } from './selector.ts';
import type { NamespaceRule } from './types.ts';

interface RouteNamespaces {
  readonly from?: string;
  readonly selector?: LabelSelector;
}

/** A rule that cannot be read admits nothing, and is a problem of its own object only. */
export function namespaceRule(
  spec: RouteNamespaces | undefined,
  fallback: 'Same' | 'None',
  field: string,
): { readonly rule: NamespaceRule; readonly problem: Cause | null } {
  const from = spec?.from ?? fallback;
  switch (from) {
    case 'All':
    case 'Same':
    case 'None':
      return { rule: { from }, problem: null };
    case 'Selector': {
      const selector = fromLabelSelector(spec?.selector);
      if ('problem' in selector) return { rule: { from: 'None' }, problem: cause.selectorMalformed(`${field}.selector`, selector.problem) };
      return { rule: { from: 'Selector', requirements: selector.requirements }, problem: null };
    }
    default:
      return { rule: { from: 'None' }, problem: cause.namespacesFromUnknown(`${field}.from`, from) };
  }
}

export function admits(rule: NamespaceRule, own: string, namespace: string, namespaces: ReadonlyMap<Key, Namespace>): boolean {
  if (rule.from !== 'Selector') return rule.from === 'All' || (rule.from === 'Same' && own === namespace);
  const object = namespaces.get(namespace);
  return object !== undefined && selects(rule.requirements, object.metadata.labels ?? {});
}
