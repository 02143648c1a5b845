// GatewayClass.status.supportedFeatures: every feature of the Gateway API that is carried out, and what it needs besides this program.
//
// A feature that works in part is not here: whoever reads the list, people and the conformance suite alike, takes it at its word.
import { compareText } from '../api/ref.ts';
import type { InstalledApi } from '../graph/installed.ts';

/** Installed CRDs and settings of a class, as far as features depend on them. */
export interface Offer {
  readonly api: InstalledApi;
  readonly entry: 'Tunnel' | 'Local' | 'Both';
  /** Whether a Service is made for each Gateway. */
  readonly makesServices: boolean;
  readonly tunnelProtocol: 'http2' | 'quic';
}

/** CRDs of bundle 1.5 and of the standard channel would drop the fields of some features. */
const holds = {
  'bundle 1.6': ({ api }) => api.bundle !== 'v1.5',
  'experimental channel': ({ api }) => api.channel === 'experimental',
  /** The first address of a Gateway leads to listeners of its own: its ports, its certificates, nobody else's routes. */
  'entry Local': ({ entry }) => entry === 'Local',
  'a Service for each Gateway': ({ makesServices }) => makesServices,
  /** A tunnel over QUIC loses them, and gRPC with them. */
  trailers: ({ entry, tunnelProtocol }) => entry === 'Local' || tunnelProtocol === 'http2',
} as const satisfies Readonly<Record<string, (offer: Offer) => boolean>>;

export type Need = keyof typeof holds;

const FEATURES: Readonly<Record<string, readonly Need[]>> = {
  Gateway: [],
  ReferenceGrant: [],
  HTTPRoute: [],
  GRPCRoute: ['trailers'],

  ListenerSet: [],
  GatewayAddressEmpty: [],
  GatewayStaticAddresses: ['entry Local'],
  GatewayPort8080: ['entry Local'],
  GatewayHTTPListenerIsolation: ['entry Local'],
  GatewayHTTPSListenerDetectMisdirectedRequests: ['entry Local'],
  GatewayFrontendClientCertificateValidation: ['entry Local'],
  GatewayFrontendClientCertificateValidationInsecureFallback: ['entry Local'],
  GatewayInfrastructure: ['a Service for each Gateway'],
  /** Its name before bundle v1.6.3. */
  GatewayInfrastructurePropagation: ['a Service for each Gateway'],

  HTTPRouteNamedRouteRule: [],
  HTTPRouteParentRefPort: [],
  HTTPRouteDestinationPortMatching: [],
  HTTPRouteMethodMatching: [],
  HTTPRouteQueryParamMatching: [],
  HTTPRouteResponseHeaderModification: [],
  HTTPRouteBackendRequestHeaderModification: [],
  HTTPRouteHostRewrite: [],
  HTTPRoutePathRewrite: [],
  HTTPRoutePathRedirect: [],
  HTTPRoutePortRedirect: [],
  HTTPRouteSchemeRedirect: [],
  HTTPRoute303RedirectStatusCode: [],
  HTTPRoute307RedirectStatusCode: [],
  HTTPRoute308RedirectStatusCode: [],
  HTTPRouteRequestTimeout: [],
  HTTPRouteBackendTimeout: [],
  HTTPRouteBackendProtocolH2C: [],
  HTTPRouteBackendProtocolWebSocket: [],

  GRPCRouteNamedRouteRule: ['trailers'],
};

/** Names in the order that the API asks for. */
export const featuresOf = (offer: Offer, table = FEATURES): readonly string[] =>
  Object.keys(table)
    .filter((name) => table[name]?.every((need) => holds[need](offer)))
    .sort(compareText);
