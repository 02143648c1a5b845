// Which Secrets and ConfigMaps a snapshot must hold before the graph can be built from it. Works without them.
import type { ListenerSet } from '../api/gateway.ts';
import type { WantedObjects } from '../api/plan.ts';
import type { Key } from '../api/ref.ts';
import type { Settings } from '../api/settings.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { certificateSecrets, type CertificateOwner } from './certificate.ts';
import { clientCertificateSecret } from './client-certificate.ts';
import { configsOfOurs } from './class.ts';
import { credentialsKey, makesTunnels } from './config.ts';
import { frontendReferents } from './frontend-tls.ts';
import { gatewayConfigOf, secretsOfGatewayConfig } from './gateway-config.ts';
import { parentGateway } from './gateway.ts';
import { indexGrants } from './grant.ts';
import { madeTunnelSecret } from './made-tunnel.ts';
import { policyReferents } from './policy.ts';
import { policiesOfOurs } from './policy-wanted.ts';

/** API and connector tokens of configurations, the connector token, certificates of Gateways and listeners, and CA certificates of policies: of other namespaces only where a grant permits it. */
export function wantedObjects(snapshot: Snapshot, settings: Settings): WantedObjects {
  const { objects } = snapshot;
  const secrets = new Set<Key>();
  const configMaps = new Set<Key>();
  if (settings.tokenSecret !== null) secrets.add(settings.tokenSecret);
  const { checked } = configsOfOurs(objects.GatewayClass, objects.GatewayClassConfig, settings.controllerName);
  for (const config of checked) {
    const key = credentialsKey(config, settings);
    if (key !== null) secrets.add(key);
  }

  const grants = indexGrants(objects.ReferenceGrant);
  const classes = new Set<string>();
  const madeFor = new Set<string>();
  for (const { metadata, spec } of objects.GatewayClass.values()) {
    if (spec.controllerName !== settings.controllerName) continue;
    classes.add(metadata.name);
    const config = objects.GatewayClassConfig.get(spec.parametersRef?.name ?? '');
    if (config !== undefined && makesTunnels(config)) madeFor.add(metadata.name);
  }
  const isOurs = (key: Key | null): boolean => classes.has(objects.Gateway.get(key ?? '')?.spec.gatewayClassName ?? '');

  const gateways = [...objects.Gateway.values()].filter(({ spec }) => classes.has(spec.gatewayClassName));
  for (const gateway of gateways) {
    const clientCertificate = clientCertificateSecret(gateway, grants);
    if (clientCertificate !== null) secrets.add(clientCertificate);
    const ref = gatewayConfigOf(gateway);
    const config = ref !== null && 'key' in ref ? objects.GatewayConfig.get(ref.key) : undefined;
    if (config !== undefined) for (const key of secretsOfGatewayConfig(config)) secrets.add(key);
    if (ref === null && madeFor.has(gateway.spec.gatewayClassName)) secrets.add(madeTunnelSecret(gateway, settings));
    for (const { kind, key } of frontendReferents(gateway, grants)) (kind === 'Secret' ? secrets : configMaps).add(key);
  }
  for (const policy of policiesOfOurs(snapshot, isOurs)) {
    for (const { kind, key } of policyReferents(policy)) (kind === 'Secret' ? secrets : configMaps).add(key);
  }
  const owners: readonly (readonly [CertificateOwner, ListenerSet['spec']['listeners']])[] = [
    ...gateways.map(({ metadata, spec }) => [{ kind: 'Gateway', namespace: metadata.namespace ?? '' }, spec.listeners ?? []] as const),
    ...[...objects.ListenerSet.values()]
      .filter((set) => isOurs(parentGateway(set)))
      .map(({ metadata, spec }) => [{ kind: 'ListenerSet', namespace: metadata.namespace ?? '' }, spec.listeners] as const),
  ];
  for (const [owner, listeners] of owners) {
    for (const listener of listeners) for (const key of certificateSecrets(listener, owner, grants)) secrets.add(key);
  }
  return { secrets, configMaps };
}
