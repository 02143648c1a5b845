// Hostname ownership: a namespace carries its domain as a label, and what it publishes must lie within that domain.
import * as cause from '../api/cause-route.ts';
import type { Cause } from '../api/condition.ts';
import type { Namespace } from '../api/core.ts';
import type { Key } from '../api/ref.ts';
import type { OwnershipSettings } from '../api/settings.ts';
import { isWithin, normalise } from './hostname.ts';
import { parseSelector, selects, type Labels } from './selector.ts';

export interface Ownership {
  readonly enforced: boolean;
  /** The namespace's domain in lower case; empty when it is policed and has none; null when it is not policed. */
  domainOf(namespace: string): string | null;
  /** Why a route must not have these hostnames. A route without hostnames would inherit whatever its listener serves, so it is refused as well. */
  refuseRoute(namespace: string, hostnames: readonly string[]): Cause | null;
  /** Hostnames that a route stands for: its own, or, where routes without any are let in, what its namespace owns. */
  hostnamesOf(namespace: string, declared: readonly string[]): readonly string[];
  /** Why a listener must not have this hostname. Without one it claims nothing by itself: its routes are judged one by one. */
  refuseListener(namespace: string, hostname: string): Cause | null;
}

const unpoliced: Ownership = {
  enforced: false,
  domainOf: () => null,
  refuseRoute: () => null,
  hostnamesOf: (_, declared) => declared,
  refuseListener: () => null,
};

export function buildOwnership(settings: OwnershipSettings, namespaces: ReadonlyMap<Key, Namespace>): Ownership {
  if (!settings.enforce) return unpoliced;
  const selector = parseSelector(settings.namespaceSelector);
  const { labelKey, unlabelled, emptyHostnames } = settings;

  // Fail closed: a selector that cannot be read polices everything, a namespace that cannot be read owns nothing.
  const isPoliced = (labels: Labels | undefined): boolean => {
    if (labels === undefined) return true;
    if (unlabelled === 'Ignore' && labels[labelKey] === undefined) return false;
    return 'problem' in selector || selects(selector.requirements, labels);
  };

  const domains = new Map<string, string | null>();
  const domainOf = (name: string): string | null => {
    let domain = domains.get(name);
    if (domain === undefined) {
      const namespace = namespaces.get(name);
      const labels = namespace === undefined ? undefined : (namespace.metadata.labels ?? {});
      domain = isPoliced(labels) ? normalise(labels?.[labelKey]) : null;
      domains.set(name, domain);
    }
    return domain;
  };

  const refuse = (namespace: string, hostnames: readonly string[]): Cause | null => {
    const domain = domainOf(namespace);
    if (domain === null) return null;
    if (domain === '') return cause.namespaceWithoutDomain(namespace, labelKey);
    if (hostnames.length === 0) return cause.hostnamesRequired(namespace, labelKey, domain);
    const foreign = hostnames.find((hostname) => !isWithin(normalise(hostname), domain));
    return foreign === undefined ? null : cause.hostnameNotOwned(foreign, namespace, labelKey, domain);
  };

  return {
    enforced: true,
    domainOf,
    refuseRoute: refuse,
    hostnamesOf: (namespace, declared) => {
      const domain = domainOf(namespace);
      return declared.length > 0 || emptyHostnames !== 'Scope' || !domain ? declared : [domain, `*.${domain}`];
    },
    refuseListener: (namespace, hostname) => (hostname === '' ? null : refuse(namespace, [hostname])),
  };
}
