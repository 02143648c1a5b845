// What can be wrong with GatewayClasses, GatewayClassConfigs and the tunnels that they name: reason and sentence for each.
import { Reason, type Cause } from './condition.ts';

const invalid = (message: string): Cause => ({ reason: Reason.Invalid, message });
const missing = (message: string): Cause => ({ reason: Reason.SecretsMissing, message });
const parameters = (message: string): Cause => ({ reason: Reason.InvalidParameters, message });

// GatewayClass

export const parametersRefMissing = (): Cause =>
  parameters(
    'spec.parametersRef is missing: point it to a GatewayClassConfig (group cf.k8s.lex.la), which names the tunnel and the API token',
  );

export const parametersRefKind = (group: string, kind: string): Cause =>
  parameters(`spec.parametersRef names ${kind} of group "${group}": point it to a GatewayClassConfig of group cf.k8s.lex.la`);

export const configNotFound = (name: string): Cause =>
  parameters(`GatewayClassConfig ${name} (spec.parametersRef) does not exist: create it or correct the name`);

export const configNotValid = (name: string, cause: Cause): Cause =>
  parameters(`GatewayClassConfig ${name} is not valid: ${cause.message}`);

export const tunnelsUnavailable = (): Cause =>
  invalid(
    'spec.tunnels is PerGateway, but without a cluster there is no place for the tokens of tunnels: set spec.tunnels to Shared and name a tunnel in spec.tunnelID',
  );

export const localEntryUnavailable = (entry: string): Cause =>
  invalid(
    `spec.entry is ${entry}, but this controller makes no Services: in a cluster start it with --local-entry (chart: localEntry.enabled=true), or set spec.entry to Tunnel; without a cluster there is only Tunnel`,
  );

// Secret with the API token

export const credentialsMissing = (): Cause =>
  missing('spec.cloudflareCredentialsSecretRef is missing: name the Secret with the Cloudflare API token');

export const secretNotFound = (secret: string, key: string): Cause =>
  missing(
    `Secret ${secret} (spec.cloudflareCredentialsSecretRef) does not exist: create it with the Cloudflare API token under the key ${key}`,
  );

export const secretKeyMissing = (secret: string, key: string): Cause =>
  missing(
    `Secret ${secret} (spec.cloudflareCredentialsSecretRef) has no key ${key}: put the Cloudflare API token there or correct spec.cloudflareCredentialsSecretRef.key`,
  );

export const secretKeyEmpty = (secret: string, key: string): Cause =>
  missing(`key ${key} of Secret ${secret} (spec.cloudflareCredentialsSecretRef) is empty: put the Cloudflare API token there`);

export const secretKeyNotText = (secret: string, key: string): Cause =>
  missing(
    `key ${key} of Secret ${secret} (spec.cloudflareCredentialsSecretRef) is not base64 of a text: write the Cloudflare API token again`,
  );

export const secretAccountInvalid = (secret: string): Cause =>
  invalid(`key account-id of Secret ${secret} is not a Cloudflare account id (32 lower-case hexadecimal characters): correct or remove it`);

// Tunnel and account

export const tunnelIdMissing = (): Cause =>
  invalid('spec.tunnelID is missing: set it, or set spec.deriveFromToken to true to take the tunnel from the connector token');

export const deriveWithoutTokenSecret = (): Cause =>
  invalid(
    'spec.deriveFromToken needs a connector token that the controller can read: start it with --proxy-token-secret, or set spec.tunnelID',
  );

export const tokenSecretNotFound = (secret: string): Cause =>
  invalid(
    `spec.deriveFromToken needs the connector token, but Secret ${secret} (--proxy-token-secret) does not exist: create it with the key tunnel-token, or set spec.tunnelID`,
  );

export const tokenInvalid = (secret: string, problem: string): Cause =>
  invalid(
    `key tunnel-token of Secret ${secret} (--proxy-token-secret) is not a connector token: ${problem}; copy the token of the tunnel again`,
  );

export const tokenKeyMissing = (secret: string): Cause =>
  invalid(`Secret ${secret} (--proxy-token-secret) has no value under the key tunnel-token: put the connector token there`);

export const tunnelContradiction = (configured: string, secret: string, fromToken: string): Cause =>
  invalid(
    `spec.tunnelID is ${configured}, but the connector token in Secret ${secret} (--proxy-token-secret) is for tunnel ${fromToken}: make them agree, or remove spec.tunnelID and set spec.deriveFromToken`,
  );

export const accountContradiction = (field: string, configured: string, secret: string, fromToken: string): Cause =>
  invalid(
    `${field} is ${configured}, but the connector token in Secret ${secret} (--proxy-token-secret) is for account ${fromToken}: make them agree, or remove ${field}`,
  );

export const policyContradiction = (tunnel: string, policy: string, winner: string, winnersPolicy: string): Cause =>
  invalid(
    `spec.configPolicy is ${policy}, but GatewayClassConfig ${winner}, which is older, configures the same tunnel ${tunnel} with ${winnersPolicy}: give both the same policy`,
  );

export const sharedAccountContradiction = (tunnel: string, account: string, winner: string, winnersAccount: string): Cause =>
  invalid(
    `the account is ${account}, but GatewayClassConfig ${winner}, which is older, names account ${winnersAccount} for the same tunnel ${tunnel}: correct spec.accountId or spec.tunnelID`,
  );

// Bundle version of the Gateway API CRDs

export const bundleUnsupported = (version: string, supported: readonly string[]): Cause => ({
  reason: Reason.UnsupportedVersion,
  message: `Gateway API CRDs of bundle ${version} are installed; this controller is built for ${supported.join(' and ')}: install a bundle of one of them`,
});

export const bundleUnknown = (annotation: string): Cause => ({
  reason: Reason.UnsupportedVersion,
  message: `CustomResourceDefinition gatewayclasses.gateway.networking.k8s.io does not tell its version in the annotation ${annotation}: install the Gateway API CRDs from a release`,
});
