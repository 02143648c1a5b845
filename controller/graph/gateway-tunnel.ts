// Which tunnel each Gateway has: that of its class, or one of its own; and which tunnels there are in all.
import { hash } from 'node:crypto';
import * as cause from '../api/cause-gateway-config.ts';
import { Reason, type Cause } from '../api/condition.ts';
import type { Secret } from '../api/core.ts';
import type { Gateway } from '../api/gateway.ts';
import type { GatewayConfig } from '../api/own.ts';
import { keyOf, type Key } from '../api/ref.ts';
import type { Classes } from './class.ts';
import { buildGatewayConfig, gatewayConfigOf } from './gateway-config.ts';
import { byAge } from './order.ts';
import { madeTunnelName, madeTunnelSecret } from './made-tunnel.ts';
import { decodeToken, isSameConnector, secretValue } from './token.ts';
import type { ClassNode, ConfigNode, GatewayConfigNode, MadeTunnel, TunnelNode } from './types.ts';

export interface GatewayTunnel {
  /** Null when it has none, or none yet. */
  readonly tunnelId: string | null;
  /** Why the Gateway is not accepted. */
  readonly refused: Cause | null;
  /** Why it has no tunnel although it is accepted. */
  readonly unassigned: Cause | null;
  /** Who else has it by a GatewayConfig. */
  readonly shared: Cause | null;
}

export interface GatewayTunnels {
  /** Those that Gateways of ours have, in the order of the oldest such Gateway. */
  readonly configs: readonly GatewayConfigNode[];
  /** Of classes first, then of Gateways, oldest first. */
  readonly tunnels: readonly TunnelNode[];
  readonly byGateway: ReadonlyMap<Key, GatewayTunnel>;
  /** Those that are to be made, or have been. */
  readonly made: readonly MadeTunnel[];
}

export interface TunnelObjects {
  readonly gateways: ReadonlyMap<Key, Gateway>;
  readonly configs: ReadonlyMap<Key, GatewayConfig>;
  readonly secrets: ReadonlyMap<Key, Secret>;
}

/** Stands in the id of a node between the tunnel and what tells its token from another. */
const RIVAL = '~';

/** The tunnel that a node is for. */
export const uuidOf = (id: string): string => id.split(RIVAL)[0] ?? id;

const served = (tunnelId: string | null): GatewayTunnel => ({ tunnelId, refused: null, unassigned: null, shared: null });
const wait = (unassigned: Cause): GatewayTunnel => ({ tunnelId: null, refused: null, unassigned, shared: null });
const refuse = (refused: Cause): GatewayTunnel => ({ tunnelId: null, refused, unassigned: null, shared: null });

export interface TunnelRules {
  /** The most tunnels of the pool. The older Gateways have them, so that a new one takes nothing from anybody. */
  readonly limit: number;
  readonly controllerNamespace: string;
  /** Null while it is not known. */
  readonly cluster: string | null;
}

export function assignTunnels(
  { gateways, configs, secrets }: TunnelObjects,
  { classes, tunnels }: Classes,
  { limit, controllerNamespace, cluster }: TunnelRules,
): GatewayTunnels {
  const byClass = new Map(classes.map((node) => [node.object.metadata.name, node]));
  const pool = new TunnelPool(tunnels, limit);
  const nodes = new Map<Key, GatewayConfigNode>();
  const byGateway = new Map<Key, GatewayTunnel>();
  const made: MadeTunnel[] = [];
  const byConfig: Key[] = [];

  for (const gateway of byAge(gateways.values())) {
    const node = byClass.get(gateway.spec.gatewayClassName);
    if (node === undefined) continue;
    byGateway.set(keyOf(gateway.metadata.namespace, gateway.metadata.name), assign(gateway, node));
  }
  return { configs: [...nodes.values()], tunnels: pool.tunnels, byGateway: flagShared(byGateway, byConfig), made };

  function assign(gateway: Gateway, classNode: ClassNode): GatewayTunnel {
    const ref = gatewayConfigOf(gateway);
    const { config } = classNode;
    if (ref === null && config?.perGateway) return make(gateway, config);
    if (ref === null) return served(config?.identity?.tunnelId ?? null);
    if (!('key' in ref)) return refuse(ref);
    const object = configs.get(ref.key);
    if (object === undefined) return refuse(cause.gatewayConfigNotFound(ref.field, ref.key));
    if (config?.entry === 'Local') return refuse(cause.gatewayConfigWithoutTunnels(ref.key, classNode.object.metadata.name));
    const known = nodes.get(ref.key) ?? buildGatewayConfig(object, secrets);
    const { node, assigned } = pool.join(known, classNode);
    nodes.set(ref.key, node);
    if (assigned.tunnelId !== null) byConfig.push(keyOf(gateway.metadata.namespace, gateway.metadata.name));
    return assigned;
  }

  function make(gateway: Gateway, config: ConfigNode): GatewayTunnel {
    if (cluster === null) return wait(cause.clusterUnknown());
    const key = keyOf(gateway.metadata.namespace, gateway.metadata.name);
    const secret = madeTunnelSecret(gateway, { controllerNamespace });
    const stored = secrets.get(secret);
    const connectorToken = (stored && secretValue(stored, 'tunnel-token')) || null;
    const tunnel: MadeTunnel = { gateway: key, config, name: madeTunnelName(cluster, key), secret, connectorToken };
    const assigned = pool.add(tunnel);
    // Whoever has to wait for a place gets no tunnel that would lie idle.
    if (assigned.unassigned?.reason !== Reason.NoResources || connectorToken !== null) made.push(tunnel);
    return assigned;
  }
}

/** Only among those that have it by a GatewayConfig: sharing the tunnel of the class is how one moves to a tunnel of one's own. */
function flagShared(byGateway: ReadonlyMap<Key, GatewayTunnel>, byConfig: readonly Key[]): ReadonlyMap<Key, GatewayTunnel> {
  const groups = Map.groupBy(byConfig, (key) => byGateway.get(key)?.tunnelId ?? '');
  const flagged = new Map(byGateway);
  for (const [tunnelId, keys] of groups) {
    if (keys.length < 2) continue;
    for (const key of keys) {
      const tunnel = byGateway.get(key) ?? served(tunnelId);
      const others = keys.filter((other) => other !== key);
      flagged.set(key, { ...tunnel, shared: cause.tunnelShared(uuidOf(tunnelId), others) });
    }
  }
  return flagged;
}

/** Tunnels as Gateways come and ask for them. */
class TunnelPool {
  readonly #limit: number;
  readonly #byId: Map<string, TunnelNode>;
  #coming = 0;

  constructor(ofClasses: readonly TunnelNode[], limit: number) {
    this.#limit = limit;
    this.#byId = new Map(ofClasses.map((tunnel) => [tunnel.id, tunnel]));
  }

  get tunnels(): readonly TunnelNode[] {
    return [...this.#byId.values()];
  }

  /** Those that are still to be made take their places already. */
  add({ gateway, config, connectorToken }: MadeTunnel): GatewayTunnel {
    if (this.#byId.size + this.#coming >= this.#limit) return wait(cause.tunnelsExhausted(this.#limit));
    const token = connectorToken === null ? null : decodeToken(connectorToken);
    if (connectorToken === null || token === null || 'problem' in token) {
      this.#coming += 1;
      return wait(cause.tunnelPending());
    }
    const [namespace = '', name = ''] = gateway.split('/');
    const id = this.#idFor(token.tunnelId, connectorToken);
    this.#byId.set(id, {
      id,
      tunnelId: token.tunnelId,
      accountId: token.accountId,
      apiToken: config.problem === null ? config.apiToken : null,
      connectorToken,
      policy: config.policy,
      configs: [{ kind: 'Gateway', namespace, name }],
    });
    return served(id);
  }

  /**
   * Who can name a tunnel can write a token for it: such a token has a node of its own, whose connectors are refused and for which no rules
   * are written, and does nothing to the Gateways that have the right one.
   */
  #idFor(tunnelId: string, connectorToken: string): string {
    const known = this.#byId.get(tunnelId);
    const isRival = known !== undefined && known.connectorToken !== null && !isSameConnector(known.connectorToken, connectorToken);
    return isRival ? `${tunnelId}${RIVAL}${hash('sha256', connectorToken, 'hex').slice(0, 16)}` : tunnelId;
  }

  /** Whoever brings the token of a tunnel that is there already shares it: the Gateways of one tunnel are one to visitors. */
  join(config: GatewayConfigNode, owner: ClassNode): { readonly node: GatewayConfigNode; readonly assigned: GatewayTunnel } {
    const { identity, connectorToken } = config;
    if (identity === null || connectorToken === null) return { node: config, assigned: refuse(notValid(config, config.problem)) };
    const ref = { kind: 'GatewayConfig', namespace: config.object.metadata.namespace ?? '', name: config.object.metadata.name };
    const id = this.#idFor(identity.tunnelId, connectorToken);
    const known = this.#byId.get(id);
    if (known === undefined && this.#byId.size + this.#coming >= this.#limit)
      return { node: config, assigned: wait(cause.tunnelsExhausted(this.#limit)) };
    const configs = known?.configs ?? [];
    const isListed = configs.some(({ kind, namespace, name }) => kind === ref.kind && namespace === ref.namespace && name === ref.name);
    this.#byId.set(id, {
      ...(known ?? { ...fresh(config, connectorToken, owner), id }),
      configs: isListed ? configs : [...configs, ref],
    });
    const refused = config.problem === null ? null : notValid(config, config.problem);
    // Traffic needs no API token: a Gateway that lacks it is told, and served.
    return { node: config, assigned: { ...served(id), refused } };
  }
}

const notValid = ({ key }: GatewayConfigNode, problem: Cause | null): Cause =>
  cause.gatewayConfigNotValid(key, problem ?? { reason: 'Invalid', message: 'its connector token is unknown' });

function fresh(
  { identity, apiToken, problem, object }: GatewayConfigNode,
  connectorToken: string,
  owner: ClassNode,
): Omit<TunnelNode, 'id'> {
  const ofClass = owner.problem === null && object.spec.cloudflareCredentialsSecretRef === undefined ? owner.config?.apiToken : null;
  return {
    tunnelId: identity?.tunnelId ?? '',
    accountId: identity?.accountId ?? null,
    apiToken: problem === null ? (apiToken ?? ofClass ?? null) : null,
    connectorToken,
    policy: owner.config?.policy ?? 'Exclusive',
    configs: [],
  };
}
