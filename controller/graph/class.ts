// Which GatewayClasses are ours, what their parameters say, and which tunnels follow from that.
import * as cause from '../api/cause-class.ts';
import { combine, type Cause } from '../api/condition.ts';
import type { CustomResourceDefinition, Secret } from '../api/core.ts';
import type { GatewayClass } from '../api/gateway.ts';
import { OWN_GROUP, type GatewayClassConfig } from '../api/own.ts';
import type { Key, ObjectRef } from '../api/ref.ts';
import type { Settings } from '../api/settings.ts';
import { buildConfig } from './config.ts';
import { checkInstallation, type Installation } from './installed.ts';
import { byAge } from './order.ts';
import type { ClassNode, ConfigNode, TunnelNode } from './types.ts';

export interface Classes {
  /** Ours, oldest first. */
  readonly classes: readonly ClassNode[];
  /** Those of our classes, and those that no class refers to: a configuration may be checked before a class uses it. */
  readonly configs: readonly ConfigNode[];
  /** In order of their oldest configuration. */
  readonly tunnels: readonly TunnelNode[];
}

/** The name of a class's GatewayClassConfig, or what is wrong with the reference. */
function configName(gatewayClass: GatewayClass): string | Cause {
  const ref = gatewayClass.spec.parametersRef;
  if (ref === undefined) return cause.parametersRefMissing();
  if (ref.group !== OWN_GROUP || ref.kind !== 'GatewayClassConfig') return cause.parametersRefKind(ref.group, ref.kind);
  return ref.name;
}

/** Names of the configurations that this controller speaks about. */
export function configsOfOurs(
  classes: ReadonlyMap<Key, GatewayClass>,
  configs: ReadonlyMap<Key, GatewayClassConfig>,
  controllerName: string,
): { readonly used: ReadonlySet<string>; readonly checked: readonly GatewayClassConfig[] } {
  const used = new Set<string>();
  const foreign = new Set<string>();
  for (const gatewayClass of classes.values()) {
    const name = configName(gatewayClass);
    if (typeof name === 'string') (gatewayClass.spec.controllerName === controllerName ? used : foreign).add(name);
  }
  return { used, checked: byAge(configs.values()).filter(({ metadata: { name } }) => used.has(name) || !foreign.has(name)) };
}

const refs = (configs: readonly ConfigNode[]): readonly ObjectRef[] =>
  configs.map(({ object }) => ({ kind: 'GatewayClassConfig', namespace: '', name: object.metadata.name }));

/**
 * Configurations with the same tunnel speak about one document, so the oldest valid one decides and later ones must agree with it.
 * A tunnel without any valid configuration still has its entry in the proxies: traffic does not depend on the API token.
 */
function groupByTunnel(configs: readonly ConfigNode[]): {
  readonly tunnels: readonly TunnelNode[];
  readonly conflicts: ReadonlyMap<ConfigNode, Cause>;
} {
  const groups = new Map<string, ConfigNode[]>();
  for (const config of configs) {
    if (config.identity === null) continue;
    const group = groups.get(config.identity.tunnelId);
    if (group === undefined) groups.set(config.identity.tunnelId, [config]);
    else group.push(config);
  }
  const conflicts = new Map<ConfigNode, Cause>();
  const tunnels = [...groups].map(([id, group]): TunnelNode => {
    const lead = group.find(({ problem }) => problem === null);
    const common = { id, tunnelId: id, connectorToken: null, configs: refs(group) };
    if (lead === undefined) return { ...common, accountId: null, apiToken: null, policy: 'Exclusive' };
    for (const config of group.slice(group.indexOf(lead) + 1)) {
      const conflict = contradicts(id, lead, config);
      if (conflict !== null) conflicts.set(config, conflict);
    }
    return { ...common, accountId: lead.identity?.accountId ?? null, apiToken: lead.apiToken, policy: lead.policy };
  });
  return { tunnels, conflicts };
}

function contradicts(tunnel: string, lead: ConfigNode, config: ConfigNode): Cause | null {
  const winner = lead.object.metadata.name;
  const ours = config.identity?.accountId ?? null;
  const theirs = lead.identity?.accountId ?? null;
  if (ours !== null && theirs !== null && ours !== theirs) return cause.sharedAccountContradiction(tunnel, ours, winner, theirs);
  return config.policy === lead.policy ? null : cause.policyContradiction(tunnel, config.policy, winner, lead.policy);
}

export interface ClassObjects {
  readonly classes: ReadonlyMap<Key, GatewayClass>;
  readonly configs: ReadonlyMap<Key, GatewayClassConfig>;
  readonly secrets: ReadonlyMap<Key, Secret>;
  readonly crds: ReadonlyMap<Key, CustomResourceDefinition>;
}

export function buildClasses({ classes, configs, secrets, crds }: ClassObjects, settings: Settings): Classes {
  const { used, checked } = configsOfOurs(classes, configs, settings.controllerName);
  const resolved = checked.map((config) => buildConfig(config, secrets, settings));
  const { tunnels, conflicts } = groupByTunnel(resolved.filter(({ object }) => used.has(object.metadata.name)));
  const nodes = resolved.map((node) => ({ ...node, problem: combine([node.problem, conflicts.get(node) ?? null]) }));
  const byName = new Map(nodes.map((node) => [node.object.metadata.name, node]));

  const installation = checkInstallation(crds);
  const ours = byAge(classes.values()).filter(({ spec }) => spec.controllerName === settings.controllerName);
  return { classes: ours.map((object) => buildClass(object, byName, installation)), configs: nodes, tunnels };
}

function buildClass(object: GatewayClass, configs: ReadonlyMap<string, ConfigNode>, installation: Installation): ClassNode {
  const name = configName(object);
  if (typeof name !== 'string') return { object, config: null, problem: name, installation };
  const config = configs.get(name);
  if (config === undefined) return { object, config: null, problem: cause.configNotFound(name), installation };
  return { object, config, problem: config.problem === null ? null : cause.configNotValid(name, config.problem), installation };
}
