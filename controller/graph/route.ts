// A route with its parents, rules and backends put together: the shape common to both kinds.
import * as cause from '../api/cause-route.ts';
import { combine, type Cause } from '../api/condition.ts';
import type { Route } from '../api/gateway.ts';
import { keyOf, type Key } from '../api/ref.ts';
import type { RuleConfig } from '#proxy/config/schema.ts';
import type { ParentBinding } from './attach.ts';
import { resolveRef, serviceKey, type RefContext } from './backend.ts';
import type { Grants } from './grant.ts';
import { entriesOf } from './entry.ts';
import { draftGrpcRules } from './grpc-route.ts';
import { draftHttpRules } from './http-route.ts';
import type { Governed } from './policy-target.ts';
import { outlineRoute, type RouteOutline } from './rule.ts';
import type { ServiceNode, Services } from './service.ts';
import { settleClaims, type Loss, type Verdicts } from './shadow.ts';
import type { Attachment, BackendNode, ParentNode, RouteNode } from './types.ts';

export const outlineOf = (route: Route): RouteOutline =>
  outlineRoute(route, route.kind === 'GRPCRoute' ? draftGrpcRules(route) : draftHttpRules(route));

/** Parents after hostnames were settled between namespaces. */
export function buildParents(namespace: string, bindings: readonly ParentBinding[], verdicts: Verdicts): readonly ParentNode[] {
  return bindings.map(({ ref, gateway, refused, matches }) => {
    const attachments: Attachment[] = [];
    const losses: Loss[] = [];
    for (const match of matches) {
      const { listener } = match;
      for (const { id, tunnelId, scope } of entriesOf(gateway, listener)) {
        const settled = settleClaims(verdicts, { namespace, scope }, match);
        losses.push(...settled.losses);
        if (settled.kept !== null) attachments.push({ listener, entry: id, tunnelId, hostnames: settled.kept });
      }
    }
    return { ref, gateway, refused, listeners: matches.map(({ listener }) => listener), attachments, shadowed: shadowed(losses) };
  });
}

function shadowed(losses: readonly Loss[]): Cause | null {
  if (losses.length === 0) return null;
  return cause.hostnamesShadowed(
    [...new Set(losses.map(({ hostname }) => hostname))].sort(),
    [...new Set(losses.flatMap(({ owners }) => owners))].sort(),
  );
}

export interface References {
  readonly grants: Grants;
  readonly services: Services;
  readonly governed: Governed;
}

/** What a node was made of; as long as all of it is the same, so is the node. */
interface Ingredients {
  readonly parents: readonly ParentNode[];
  readonly grants: Grants;
  readonly services: readonly (ServiceNode | undefined)[];
  readonly governors: readonly unknown[];
}

/** Builds nodes; the previous node of a route is returned again when nothing that it was made of has changed. */
export function createRouteBuilder(): (route: Route, parents: readonly ParentNode[], references: References) => RouteNode {
  const outlines = new WeakMap<Route, { readonly outline: RouteOutline; readonly keys: readonly Key[] }>();
  const nodes = new WeakMap<Route, { readonly node: RouteNode; readonly from: Ingredients }>();
  // Most builds change routes only: then a node that was right for these very references need not be compared with them again.
  const checked = new WeakMap<RouteNode, References>();
  return (route, parents, references) => {
    const known = nodes.get(route);
    if (known?.from.parents === parents && checked.get(known.node) === references) return known.node;
    const { grants, services, governed } = references;
    const namespace = route.metadata.namespace ?? '';
    let own = outlines.get(route);
    if (own === undefined) {
      const outline = outlineOf(route);
      const backends = outline.rules.flatMap((rule) => rule.backends);
      own = { outline, keys: [...new Set(backends.map((backend) => serviceKey(backend, namespace)).filter((key) => key !== null))] };
      outlines.set(route, own);
    }
    if (known !== undefined && known.from.parents === parents && known.from.grants === grants) {
      const { services: before, governors } = known.from;
      if (own.keys.every((key, index) => services.get(key) === before[index] && governed.get(key) === governors[index])) {
        checked.set(known.node, references);
        return known.node;
      }
    }
    const node = buildRoute(route, parents, own.outline, { kind: route.kind, namespace, grants, services, governed });
    const { keys } = own;
    const from = { parents, grants, services: keys.map((key) => services.get(key)), governors: keys.map((key) => governed.get(key)) };
    nodes.set(route, { node, from });
    checked.set(node, references);
    return node;
  };
}

function buildRoute(route: Route, parents: readonly ParentNode[], outline: RouteOutline, context: RefContext): RouteNode {
  const rules: RuleConfig[] = [];
  const backends = new Map<string, BackendNode>();
  const services = new Set<Key>();
  const problems: Cause[] = [];
  const closed: Cause[] = [];
  for (const { config, backends: refs } of outline.rules) {
    const resolved = refs.map((ref) => resolveRef(ref, context));
    problems.push(...resolved.map(({ problem }) => problem).filter((problem) => problem !== null));
    for (const { service } of resolved) if (service !== null) services.add(service);
    const reasons = resolved.map((ref) => ref.closed).filter((reason) => reason !== null);
    closed.push(...reasons);
    if (config === null) continue;
    if (config.error !== undefined) {
      rules.push(config);
      continue;
    }
    const error = reasons.length > 0 && reasons.length === resolved.length ? combine(reasons) : null;
    if (error !== null) {
      rules.push({ ...config, backends: [], error: { status: 500, reason: error.message } });
      continue;
    }
    rules.push({ ...config, backends: resolved.map(({ share }) => share) });
    for (const { backend } of resolved) if (backend !== null) backends.set(backend.config.id, backend);
  }
  return {
    object: route,
    id: `${route.kind}/${keyOf(route.metadata.namespace, route.metadata.name)}`,
    parents,
    rules,
    backends: [...backends.values()],
    services: [...services],
    unservable: outline.unservable,
    partial: outline.unservable === null ? combine([outline.partial, ...closed]) : null,
    references: combine(problems),
  };
}
