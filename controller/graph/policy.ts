// BackendTLSPolicies: what each of them trusts, and the Gateways that it concerns, which are its ancestors (GEP-1897, GEP-713).
import * as cause from '../api/cause-tls.ts';
import { combine, Reason, type Cause } from '../api/condition.ts';
import type { Service } from '../api/core.ts';
import type { Gateway } from '../api/gateway.ts';
import type { BackendTLSPolicy } from '../api/policy.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { caKind, readBundle, type CaKind, type CaObjects } from './ca.ts';
import { sameData } from './memo.ts';
import { byAge } from './order.ts';
import { holderOf, targetsOf, type Governed, type PolicyTarget } from './policy-target.ts';
import type { AncestorNode, PolicyNode, RouteNode } from './types.ts';

export interface PolicySources extends CaObjects {
  readonly policies: ReadonlyMap<Key, BackendTLSPolicy>;
  readonly governed: Governed;
  readonly services: ReadonlyMap<Key, Service>;
  readonly routes: readonly RouteNode[];
}

/** Builds nodes for the policies that concern a Gateway of ours; what did not change is the same node as before. */
export function createPolicyBuilder(): (sources: PolicySources) => readonly PolicyNode[] {
  const nodes = new WeakMap<BackendTLSPolicy, PolicyNode>();
  return (sources) => {
    if (sources.policies.size === 0) return [];
    const gateways = gatewaysByService(sources);
    return byAge(sources.policies.values()).flatMap((object) => {
      const ancestors = ancestorsOf(object, gateways, sources);
      if (ancestors.length === 0) return [];
      const node = { object, key: keyOf(object.metadata.namespace, object.metadata.name), ...readTrust(object, sources), ancestors };
      const before = nodes.get(object);
      if (before !== undefined && sameData(before, node)) return [before];
      nodes.set(object, node);
      return [node];
    });
  };
}

/** Where requests for a Service with a policy come from: Gateways with an accepted route that may send to it. */
function gatewaysByService({ governed, routes }: PolicySources): ReadonlyMap<Key, ReadonlySet<Gateway>> {
  const found = new Map<Key, Set<Gateway>>();
  for (const { services, parents, unservable } of routes) {
    if (unservable !== null) continue;
    for (const service of services) {
      if (!governed.has(service)) continue;
      const gateways = found.get(service) ?? new Set();
      found.set(service, gateways);
      for (const { gateway, listeners } of parents) if (listeners.length > 0) gateways.add(gateway.object);
    }
  }
  return found;
}

function ancestorsOf(
  policy: BackendTLSPolicy,
  gatewaysOf: ReadonlyMap<Key, ReadonlySet<Gateway>>,
  sources: PolicySources,
): readonly AncestorNode[] {
  const targets = targetsOf(policy);
  const gateways = new Set(targets.flatMap(({ service }) => [...(gatewaysOf.get(service) ?? [])]));
  return byAge(gateways).map((gateway) => {
    const relevant = targets.filter(({ service }) => gatewaysOf.get(service)?.has(gateway));
    const losses = relevant.map((target) => lossOf(policy, target, sources));
    const lost = combine(losses);
    return {
      namespace: gateway.metadata.namespace ?? '',
      name: gateway.metadata.name,
      ...(losses.includes(null) ? { refused: null, partial: lost } : { refused: lost, partial: null }),
    };
  });
}

/** Why a target is not governed by the policy that names it. */
function lossOf(policy: BackendTLSPolicy, target: PolicyTarget, { governed, services }: PolicySources): Cause | null {
  const { service, section } = target;
  const ports = services.get(service)?.spec?.ports ?? [];
  if (section !== null && !ports.some(({ name }) => name === section)) return cause.policySectionNotFound(service, section);
  const holder = holderOf(governed, target);
  return holder === null || holder === policy ? null : cause.policyConflicted(service, section, holder.metadata.name);
}

type Verdict = Pick<PolicyNode, 'trust' | 'refused' | 'references'>;

function readTrust({ metadata, spec: { validation } }: BackendTLSPolicy, sources: CaObjects): Verdict {
  const { caCertificateRefs: refs = [], wellKnownCACertificates: wellKnown } = validation;
  if (refs.length === 0) {
    return wellKnown === 'System'
      ? { trust: 'System', refused: null, references: null }
      : { trust: null, refused: wellKnown ? cause.wellKnownUnknown(wellKnown) : cause.noTrust(), references: null };
  }
  const bundles = refs.map((ref, index): string | Cause => {
    const field = `spec.validation.caCertificateRefs[${index}]`;
    const kind = caKind(ref);
    if (kind === null) return cause.caKindUnknown(Reason.InvalidKind, field, ref.group, ref.kind);
    const key = keyOf(metadata.namespace, ref.name);
    const bundle = readBundle(sources, kind, key);
    return 'pem' in bundle ? bundle.pem : cause.caUnusable(field, `${kind} ${key}`, bundle.problem);
  });
  const ca = [...new Set(bundles.filter((entry) => typeof entry === 'string'))].join('');
  const references = combine(bundles.filter((entry) => typeof entry !== 'string'));
  if (ca !== '') return { trust: { ca }, refused: null, references };
  return { trust: null, refused: references === null ? cause.noTrust() : cause.noPolicyCa(references), references };
}

/** Objects that a policy reads its CA certificates from. */
export const policyReferents = ({ metadata, spec }: BackendTLSPolicy): readonly { readonly kind: CaKind; readonly key: Key }[] =>
  (spec.validation.caCertificateRefs ?? []).flatMap((ref) => {
    const kind = caKind(ref);
    return kind === null ? [] : [{ kind, key: keyOf(metadata.namespace, ref.name) }];
  });
