// What can be wrong with GatewayConfigs and the tunnels of single Gateways: reason and sentence for each.
import { Reason, type Cause } from './condition.ts';

const invalid = (message: string): Cause => ({ reason: Reason.Invalid, message });
const missing = (message: string): Cause => ({ reason: Reason.SecretsMissing, message });
const parameters = (message: string): Cause => ({ reason: Reason.InvalidParameters, message });

// Gateway

export const gatewayParametersKind = (group: string, kind: string): Cause =>
  parameters(
    `spec.infrastructure.parametersRef names ${kind} of group "${group}": point it to a GatewayConfig of group cf.k8s.lex.la, or remove it`,
  );

export const twoGatewayConfigs = (annotation: string, annotated: string, referred: string): Cause =>
  parameters(
    `the annotation ${annotation} names GatewayConfig ${annotated}, spec.infrastructure.parametersRef names ${referred}: make them agree, or remove one of them`,
  );

export const gatewayConfigNotFound = (field: string, config: string): Cause =>
  parameters(`GatewayConfig ${config} (${field}) does not exist: create it in the namespace of the Gateway, or correct the name`);

export const gatewayConfigNotValid = (config: string, cause: Cause): Cause =>
  parameters(`GatewayConfig ${config} is not valid: ${cause.message}`);

export const gatewayConfigWithoutTunnels = (config: string, gatewayClass: string): Cause =>
  parameters(
    `GatewayConfig ${config} gives the Gateway a tunnel, but the Gateways of GatewayClass ${gatewayClass} have none (spec.entry of its GatewayClassConfig is Local): remove the reference, or use another class`,
  );

export const tunnelsExhausted = (limit: number): Cause => ({
  reason: Reason.NoResources,
  message: `the shared proxies connect at most ${limit} tunnels, and older Gateways have them all: delete a Gateway, or have the limit raised (--tunnels-per-pool)`,
});

export const tunnelShared = (tunnel: string, gateways: readonly string[]): Cause => ({
  reason: Reason.TunnelSharedAcrossNamespaces,
  message: `the Gateway has tunnel ${tunnel} together with ${gateways.slice(0, 5).join(', ')}: visitors cannot tell them apart, and their routes compete for hostnames; give each Gateway a tunnel of its own`,
});

export const tunnelPending = (): Cause => ({ reason: Reason.Pending, message: "the Gateway's tunnel is being made" });

export const clusterUnknown = (): Cause => ({
  reason: Reason.Pending,
  message: 'the Gateway gets a tunnel as soon as the controller can read Namespace kube-system, whose uid names the cluster',
});

// GatewayConfig

type SecretField = 'spec.tunnelTokenSecretRef' | 'spec.cloudflareCredentialsSecretRef';

const content = (field: SecretField): string =>
  field === 'spec.tunnelTokenSecretRef' ? 'the connector token of the tunnel' : 'the Cloudflare API token';

export const ownSecretNotFound = (field: SecretField, secret: string, key: string): Cause =>
  missing(
    `Secret ${secret} (${field}) does not exist, or the controller may not read it: create it with ${content(field)} under the key ${key}, and have the namespace listed in the chart's rbac.secretNamespaces`,
  );

export const ownSecretKeyMissing = (field: SecretField, secret: string, key: string): Cause =>
  missing(`Secret ${secret} (${field}) has no text under the key ${key}: put ${content(field)} there, or correct ${field}.key`);

export const ownTokenInvalid = (secret: string, key: string, problem: string): Cause =>
  invalid(
    `key ${key} of Secret ${secret} (spec.tunnelTokenSecretRef) is not a connector token: ${problem}; copy the token of the tunnel again`,
  );
