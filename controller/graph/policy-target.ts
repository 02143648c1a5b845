// Which BackendTLSPolicy governs a port of a Service. Decided from the policies alone: an invalid one governs as well, and closes what it governs.
import type { ServicePort } from '../api/core.ts';
import type { BackendTLSPolicy } from '../api/policy.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { coreGroup } from './grant.ts';
import { byAge } from './order.ts';

/** The policies of one Service that take precedence; a port's own one before that of the whole Service. */
interface Governors {
  readonly whole: BackendTLSPolicy | null;
  /** By name of the port. */
  readonly sections: ReadonlyMap<string, BackendTLSPolicy>;
}

export interface PolicyTarget {
  readonly service: Key;
  /** Name of the port; null for the whole Service. */
  readonly section: string | null;
}

/** Services with a policy, as far as any has one. */
export type Governed = ReadonlyMap<Key, Governors>;

/** Policies refer to Services of their own namespace only. Other kinds are left to others. */
export const targetsOf = ({ metadata, spec }: BackendTLSPolicy): readonly PolicyTarget[] =>
  spec.targetRefs
    .filter(({ group, kind }) => coreGroup(group) === '' && kind === 'Service')
    .map(({ name, sectionName }) => ({ service: keyOf(metadata.namespace, name), section: sectionName || null }));

/** The oldest policy wins a place, then the first by name (GEP-713). */
export function indexPolicies(policies: ReadonlyMap<Key, BackendTLSPolicy>): Governed {
  const governed = new Map<Key, { whole: BackendTLSPolicy | null; sections: Map<string, BackendTLSPolicy> }>();
  for (const policy of byAge(policies.values())) {
    for (const { service, section } of targetsOf(policy)) {
      let governors = governed.get(service);
      if (governors === undefined) governed.set(service, (governors = { whole: null, sections: new Map() }));
      if (section === null) governors.whole ??= policy;
      else if (!governors.sections.has(section)) governors.sections.set(section, policy);
    }
  }
  return governed;
}

/** The policy that holds exactly this place. */
export function holderOf(governed: Governed, { service, section }: PolicyTarget): BackendTLSPolicy | null {
  const governors = governed.get(service);
  return (section === null ? governors?.whole : governors?.sections.get(section)) ?? null;
}

export function governorOf(governed: Governed, service: Key, port: ServicePort): BackendTLSPolicy | null {
  const own = port.name === undefined ? null : holderOf(governed, { service, section: port.name });
  return own ?? holderOf(governed, { service, section: null });
}
