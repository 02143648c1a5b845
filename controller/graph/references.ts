// Which Secrets a snapshot must hold before the graph can be built from it. Works without them.
import type { ListenerSet } from '../api/gateway.ts';
import type { WantedObjects } from '../api/plan.ts';
import type { Key } from '../api/ref.ts';
import { keyOf } from '../api/ref.ts';
import type { Settings } from '../api/settings.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { certificateSecrets, type CertificateOwner } from './certificate.ts';
import { configsOfOurs } from './class.ts';
import { credentialsKey } from './config.ts';
import { parentGateway } from './gateway.ts';
import { indexGrants } from './grant.ts';

/** API tokens of configurations, the connector token, and certificates of listeners: of other namespaces only where a grant permits it. */
export function wantedObjects({ objects }: Snapshot, settings: Settings): WantedObjects {
  const secrets = new Set<Key>();
  if (settings.tokenSecret !== null) secrets.add(settings.tokenSecret);
  const { checked } = configsOfOurs(objects.GatewayClass, objects.GatewayClassConfig, settings.controllerName);
  for (const config of checked) secrets.add(credentialsKey(config, settings));

  const grants = indexGrants(objects.ReferenceGrant);
  const classes = new Set<string>();
  for (const { metadata, spec } of objects.GatewayClass.values())
    if (spec.controllerName === settings.controllerName) classes.add(metadata.name);
  const isOurs = (key: Key | null): boolean => classes.has(objects.Gateway.get(key ?? '')?.spec.gatewayClassName ?? '');

  const owners: readonly (readonly [CertificateOwner, ListenerSet['spec']['listeners']])[] = [
    ...[...objects.Gateway.values()]
      .filter(({ metadata }) => isOurs(keyOf(metadata.namespace, metadata.name)))
      .map(({ metadata, spec }) => [{ kind: 'Gateway', namespace: metadata.namespace ?? '' }, spec.listeners ?? []] as const),
    ...[...objects.ListenerSet.values()]
      .filter((set) => isOurs(parentGateway(set)))
      .map(({ metadata, spec }) => [{ kind: 'ListenerSet', namespace: metadata.namespace ?? '' }, spec.listeners] as const),
  ];
  for (const [owner, listeners] of owners) {
    for (const listener of listeners) for (const key of certificateSecrets(listener, owner, grants)) secrets.add(key);
  }
  return { secrets, configMaps: new Set() };
}
