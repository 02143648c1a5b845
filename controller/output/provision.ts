// Graph → the tunnels that are made for Gateways, and how they are told from those of others.
import type { ProvisionPlan } from '../api/plan.ts';
import type { Key } from '../api/ref.ts';
import { tunnelPrefix } from '../graph/made-tunnel.ts';
import type { ConfigNode, Graph } from '../graph/types.ts';

/** `gateways`: all that there are, of whatever class: a class that is gone for a moment must not cost its Gateways their tunnels. */
export function renderProvisions({ classes, made, cluster, controllerName }: Graph, gateways: ReadonlySet<Key>): readonly ProvisionPlan[] {
  if (cluster === null) return [];
  const configs = new Set(classes.flatMap(({ config }) => (config === null ? [] : [config])));
  return [...configs].flatMap((config): readonly ProvisionPlan[] => {
    if (config.perGateway === null || config.apiToken === null || config.problem !== null) return [];
    return [
      {
        id: config.object.metadata.name,
        apiToken: config.apiToken,
        accountId: config.perGateway.accountId,
        prefix: tunnelPrefix(cluster),
        owner: { controller: controllerName, cluster },
        tunnels: made
          .filter((tunnel) => isOf(tunnel.config, config))
          .map(({ gateway, name, secret, connectorToken }) => ({ gateway, name, secret, connectorToken })),
        gateways,
      },
    ];
  });
}

const isOf = (a: ConfigNode, b: ConfigNode): boolean => a.object.metadata.name === b.object.metadata.name;
