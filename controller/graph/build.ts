// Snapshot → Graph: the steps in order.
import type { Namespace } from '../api/core.ts';
import type { GRPCRoute, HTTPRoute, Route } from '../api/gateway.ts';
import { GATEWAY_CONFIG_ANNOTATION } from '../api/own.ts';
import type { Key } from '../api/ref.ts';
import type { Settings } from '../api/settings.ts';
import type { KindName, Kinds, Snapshot } from '../api/snapshot.ts';
import { bindRoute, buildTopology, type Topology } from './attach.ts';
import { isSolver, withChallenges } from './challenge.ts';
import { buildClasses } from './class.ts';
import { createFrontendConfigMaps } from './frontend-tls.ts';
import { buildGateways } from './gateway.ts';
import { assignTunnels, type TunnelRules } from './gateway-tunnel.ts';
import { indexGrants, type Grants } from './grant.ts';
import { createIntent } from './intent.ts';
import { lastCall, lastFor } from './memo.ts';
import { createByAge } from './order.ts';
import { buildOwnership } from './ownership.ts';
import { createPolicyBuilder } from './policy.ts';
import { indexPolicies, type Governed } from './policy-target.ts';
import { buildParents, createRouteBuilder } from './route.ts';
import { createServices, type Services } from './service.ts';
import { decideClaims, keepVerdicts, type Claimant, type Verdicts } from './shadow.ts';
import { createStandIns } from './stand-in.ts';
import type { Graph, ParentNode } from './types.ts';

export type GraphBuilder = (snapshot: Snapshot, settings: Settings) => Graph;

/** What a snapshot means. The same arguments give an equal graph. */
export const buildGraph: GraphBuilder = (snapshot, settings) => createGraphBuilder()(snapshot, settings);

/**
 * The same for snapshots that follow one another: a step runs again only when objects of the kinds that it looks at have changed, and a
 * node whose ingredients are the same is kept. An endpoint that comes or goes costs one pass over slices and routes.
 */
export function createGraphBuilder(): GraphBuilder {
  const objectsOf = createIntents();
  const grantsOf = lastCall(indexGrants);
  const ownershipOf = lastCall(buildOwnership);
  const classesOf = lastCall(
    (
      classes: Objects<'GatewayClass'>,
      configs: Objects<'GatewayClassConfig'>,
      secrets: Objects<'Secret'>,
      crds: Objects<'CustomResourceDefinition'>,
      settings: Settings,
    ) => buildClasses({ classes, configs, secrets, crds }, settings),
  );
  const rulesOf = lastCall(({ tunnelsPerPool, controllerNamespace }: Settings, cluster: string | null): TunnelRules => ({
    limit: tunnelsPerPool,
    controllerNamespace,
    cluster,
  }));
  const tunnelsOf = lastCall(
    (
      gateways: Objects<'Gateway'>,
      configs: Objects<'GatewayConfig'>,
      secrets: Objects<'Secret'>,
      classes: ReturnType<typeof buildClasses>,
      rules: TunnelRules,
    ) => assignTunnels({ gateways, configs, secrets }, classes, rules),
  );
  const gatewaysOf = createGateways();
  const topologyOf = lastCall(buildTopology);
  const sorted = createByAge<Route>();
  const routesOf = lastCall((http: ReadonlyMap<Key, HTTPRoute>, grpc: ReadonlyMap<Key, GRPCRoute>) =>
    sorted([...http.values(), ...grpc.values()]),
  );
  const attach = createAttacher();
  const servicesOf = lastCall(createServices());
  const governedOf = lastCall(indexPolicies);
  const standInsOf = createStandIns();
  const referencesOf = lastCall((grants: Grants, services: Services, governed: Governed) => ({ grants, services, governed }));
  const buildRoute = createRouteBuilder();
  const buildPolicies = createPolicyBuilder();

  return (snapshot, settings) => {
    const objects = objectsOf(snapshot);
    const grants = grantsOf(objects.ReferenceGrant);
    const ownership = ownershipOf(settings.ownership, objects.Namespace);
    const classNodes = classesOf(
      objects.GatewayClass,
      objects.GatewayClassConfig,
      objects.Secret,
      objects.CustomResourceDefinition,
      settings,
    );
    const { classes, configs } = classNodes;
    const cluster = objects.Namespace.get('kube-system')?.metadata.uid ?? null;
    const own = tunnelsOf(objects.Gateway, objects.GatewayConfig, objects.Secret, classNodes, rulesOf(settings, cluster));
    const gateways = gatewaysOf(objects, classes, grants, ownership, own.byGateway);
    const tunnelProtocol = settings.tunnelProtocol === 'quic' ? 'quic' : 'http2';
    const topology = topologyOf(gateways, ownership, objects.Namespace, tunnelProtocol);
    const attached = attach(routesOf(objects.HTTPRoute, objects.GRPCRoute), topology);
    const services = servicesOf(objects.Service, objects.EndpointSlice, settings.allowLoopbackEndpoints);
    const governed = governedOf(objects.BackendTLSPolicy);
    const references = referencesOf(grants, services, governed);
    const routes = attached.map(({ route, parents }) => buildRoute(route, parents, references));
    const policies = buildPolicies({
      policies: objects.BackendTLSPolicy,
      governed,
      services: objects.Service,
      routes,
      configMaps: objects.ConfigMap,
      secrets: objects.Secret,
    });
    const standIns = standInsOf(gateways, attached, ownership);
    const { configs: gatewayConfigs, tunnels, made } = own;
    const { controllerName } = settings;
    return {
      classes,
      configs,
      gatewayConfigs,
      tunnels,
      made,
      cluster,
      gateways,
      routes,
      standIns,
      policies,
      controllerName,
      tunnelProtocol,
    };
  };
}

type Objects<K extends KindName> = ReadonlyMap<Key, Kinds[K]>;

/** Objects without regard to their status: our own writes come back as changes, and mean nothing. */
function createIntents(): (snapshot: Snapshot) => Snapshot['objects'] {
  const GatewayClass = createIntent<Kinds['GatewayClass']>();
  const GatewayClassConfig = createIntent<Kinds['GatewayClassConfig']>();
  const Gateway = createIntent<Kinds['Gateway']>([GATEWAY_CONFIG_ANNOTATION]);
  const GatewayConfig = createIntent<Kinds['GatewayConfig']>();
  const ListenerSet = createIntent<Kinds['ListenerSet']>();
  const HTTPRoute = createIntent<Kinds['HTTPRoute']>();
  const GRPCRoute = createIntent<Kinds['GRPCRoute']>();
  const BackendTLSPolicy = createIntent<Kinds['BackendTLSPolicy']>();
  return ({ objects }) => ({
    ...objects,
    GatewayClass: GatewayClass(objects.GatewayClass),
    GatewayClassConfig: GatewayClassConfig(objects.GatewayClassConfig),
    Gateway: Gateway(objects.Gateway),
    GatewayConfig: GatewayConfig(objects.GatewayConfig),
    ListenerSet: ListenerSet(objects.ListenerSet),
    HTTPRoute: HTTPRoute(objects.HTTPRoute),
    GRPCRoute: GRPCRoute(objects.GRPCRoute),
    BackendTLSPolicy: BackendTLSPolicy(objects.BackendTLSPolicy),
  });
}

type GatewayArguments = Parameters<typeof buildGateways>;

function createGateways(): (
  objects: Snapshot['objects'],
  ...rest: [GatewayArguments[1], GatewayArguments[2], GatewayArguments[3], GatewayArguments[4]]
) => ReturnType<typeof buildGateways> {
  const objectsOf = lastCall(
    (
      gateways: Objects<'Gateway'>,
      listenerSets: Objects<'ListenerSet'>,
      namespaces: ReadonlyMap<Key, Namespace>,
      secrets: Objects<'Secret'>,
      configMaps: Objects<'ConfigMap'>,
    ) => ({
      gateways,
      listenerSets,
      namespaces,
      secrets,
      configMaps,
    }),
  );
  const configMapsOf = createFrontendConfigMaps();
  const build = lastCall(buildGateways);
  return (objects, ...rest) => {
    const [, grants] = rest;
    const configMaps = configMapsOf(objects.Gateway, grants, objects.ConfigMap);
    return build(objectsOf(objects.Gateway, objects.ListenerSet, objects.Namespace, objects.Secret, configMaps), ...rest);
  };
}

type BoundRoute = Claimant & { readonly route: Route };

interface AttachedRoute {
  readonly route: Route;
  readonly namespace: string;
  readonly parents: readonly ParentNode[];
}

/** Binds routes to listeners one by one, then settles hostnames that several namespaces claim, which takes all of them. */
function createAttacher(): (routes: readonly Route[], topology: Topology) => readonly AttachedRoute[] {
  const bind = lastFor((route: Route, topology: Topology) => {
    return { route, namespace: route.metadata.namespace ?? '', parents: bindRoute(route, topology) };
  });
  const settle = lastFor(({ route, namespace, parents }: BoundRoute, verdicts: Verdicts): AttachedRoute => {
    const settled = buildParents(namespace, parents, verdicts);
    return { route, namespace, parents: isSolver(route) ? withChallenges(settled) : settled };
  });
  let verdicts: Verdicts = new Map();
  return lastCall((routes: readonly Route[], topology: Topology) => {
    const bound = routes.map((route) => bind(route, topology)).filter(({ parents }) => parents.length > 0);
    verdicts = keepVerdicts(verdicts, decideClaims(bound, topology.ownership));
    return bound.map((one) => settle(one, verdicts));
  });
}
