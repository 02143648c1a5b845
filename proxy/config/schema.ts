// The pushed configuration: the one contract between controller and proxy, as zod schemas. Imports nothing of ours.
//
// On the wire it is NDJSON: a header line, then one item a line in any order of kinds, then an `end` line with the number of items.
// One item a line lets the proxy parse, validate and compile in slices, so that a large table never blocks its event loop.
import { z } from 'zod';

/** Version of this format; a proxy refuses others, so that a rollout of mixed versions keeps the last good table. */
export const CONFIG_FORMAT = 1;

const headerPair = z.object({ name: z.string().min(1).max(256), value: z.string().max(4096) });

const headerModifier = z.object({
  set: z.array(headerPair).max(16).optional(),
  add: z.array(headerPair).max(16).optional(),
  remove: z.array(z.string().min(1).max(256)).max(16).optional(),
});

const pathModifier = z.object({ type: z.enum(['ReplaceFullPath', 'ReplacePrefixMatch']), value: z.string().max(1024) });

/** A filter that this proxy can carry out, in the order of the rule. */
export const filterSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('RequestHeaderModifier'), modifier: headerModifier }),
  z.object({ type: z.literal('ResponseHeaderModifier'), modifier: headerModifier }),
  z.object({
    type: z.literal('RequestRedirect'),
    scheme: z.enum(['http', 'https']).optional(),
    hostname: z.string().max(253).optional(),
    port: z.int().min(1).max(65535).optional(),
    path: pathModifier.optional(),
    statusCode: z.union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)]),
  }),
  z.object({ type: z.literal('URLRewrite'), hostname: z.string().max(253).optional(), path: pathModifier.optional() }),
]);

const valueMatch = z.object({
  name: z.string().min(1).max(256),
  type: z.enum(['Exact', 'RegularExpression']),
  value: z.string().max(4096),
});

/** One arm of a rule: all conditions hold together. A GRPCRoute's service and method arrive as a path. */
export const matchSchema = z.object({
  path: z.object({ type: z.enum(['Exact', 'PathPrefix', 'RegularExpression']), value: z.string().max(1024) }).optional(),
  method: z.string().max(32).optional(),
  headers: z.array(valueMatch).max(16).optional(),
  query: z.array(valueMatch).max(16).optional(),
});

/** A share of a rule's traffic: either a backend by id, or a status that this share is answered with (an invalid reference keeps its weight). */
export const weightedBackendSchema = z.object({
  backend: z.string().optional(),
  status: z.union([z.literal(500), z.literal(502), z.literal(503)]).optional(),
  weight: z.int().min(0).max(1_000_000),
  filters: z.array(filterSchema).max(16).optional(),
});

export const ruleSchema = z.object({
  name: z.string().max(253).optional(),
  matches: z.array(matchSchema).min(1).max(64),
  filters: z.array(filterSchema).max(16).optional(),
  backends: z.array(weightedBackendSchema).max(16),
  /** Milliseconds; 0 or absent means no limit. `request` bounds the whole exchange, `backendRequest` one try up to its response head. */
  timeouts: z.object({ request: z.int().min(0).optional(), backendRequest: z.int().min(0).optional() }).optional(),
  /** Set when the rule must fail closed: every request that it wins gets this status. */
  error: z.object({ status: z.literal(500), reason: z.string() }).optional(),
});

/** Where a route is attached (`entry` is an entry's or a local entry's id): hostnames are already intersected with the listener's; empty means every host of the listener. */
export const attachmentSchema = z.object({ entry: z.string(), listener: z.string(), hostnames: z.array(z.string().max(253)) });

export const routeSchema = z.object({
  kind: z.literal('route'),
  /** `HTTPRoute/namespace/name`: unique, and the last tie-break of precedence. */
  id: z.string(),
  type: z.enum(['HTTP', 'GRPC']),
  namespace: z.string(),
  name: z.string(),
  /** creationTimestamp (RFC 3339): older routes win ties. */
  created: z.string(),
  attachments: z.array(attachmentSchema),
  rules: z.array(ruleSchema).max(64),
});

/** A Service port (or other target) with its ready endpoints, each `address:port` or `[v6]:port`. */
export const backendSchema = z.object({
  kind: z.literal('backend'),
  id: z.string(),
  /** For logs, metrics and error texts: `namespace/service:port`. */
  name: z.string(),
  protocol: z.enum(['http1', 'h2c']),
  endpoints: z.array(z.string()),
  /** Tried when every endpoint refuses the connection: the ClusterIP and port. */
  fallback: z.string().optional(),
});

export const listenerSchema = z.object({
  /** `Gateway/namespace/name/listener` or `ListenerSet/namespace/name/listener`. */
  id: z.string(),
  protocol: z.enum(['HTTP', 'HTTPS']),
  port: z.int().min(1).max(65535),
  /** Lower case; absent means every host. */
  hostname: z.string().max(253).optional(),
});

/** A front door of the proxy: a loopback port that one tunnel's connector dials, with the listeners behind it. */
export const entrySchema = z.object({
  kind: z.literal('entry'),
  id: z.string(),
  port: z.int().min(1).max(65535),
  listeners: z.array(listenerSchema),
});

/** A certificate for the proxy's own entry. The key is a secret: nothing of this item is ever logged or told. */
export const certificateSchema = z.object({
  kind: z.literal('certificate'),
  /** `Secret/namespace/name`. */
  id: z.string(),
  /** PEM, the leaf first. */
  cert: z.string().max(262_144),
  key: z.string().max(65_536),
});

/** A listener of the proxy's own entry. Over HTTPS a handshake is answered with one of `certificates` (ids), the first that fits the client. */
export const localListenerSchema = listenerSchema.extend({ certificates: z.array(z.string()).max(64).optional() });

/**
 * A front door of the proxy itself, for clients that need no tunnel: what a socket accepted on `port` brings is for one Gateway and one port of
 * it alone. The port in `Host` does not count, nothing falls through to another scheme, and the most specific hostname owns a request.
 */
export const localEntrySchema = z.object({
  kind: z.literal('localEntry'),
  /** `local/namespace/gateway/listenerPort`. */
  id: z.string(),
  /** Where the proxy listens, on every address. */
  port: z.int().min(1).max(65535),
  /** The port that visitors dial: the one of the Gateway's listeners. */
  listenerPort: z.int().min(1).max(65535),
  protocol: z.enum(['HTTP', 'HTTPS']),
  listeners: z.array(localListenerSchema),
  /** Client certificates over HTTPS: demanded and checked, or asked for and taken whatever they are. `ca` is a PEM bundle. */
  clientValidation: z.object({ mode: z.enum(['AllowValidOnly', 'AllowInsecureFallback']), ca: z.string().max(1_048_576) }).optional(),
});

/** A tunnel that this plane must connect. Without `token` the proxy's own TUNNEL_TOKEN is used, if it is for this tunnel. */
export const tunnelSchema = z.object({
  kind: z.literal('tunnel'),
  id: z.string(),
  entry: z.string(),
  protocol: z.enum(['auto', 'http2', 'quic']),
  token: z.string().optional(),
});

export const itemSchema = z.discriminatedUnion('kind', [
  tunnelSchema,
  certificateSchema,
  entrySchema,
  localEntrySchema,
  backendSchema,
  routeSchema,
]);

/** First line. (epoch, sequence) order configurations; digest is the lower-case hex SHA-256 of all item lines joined by \n. */
export const headerSchema = z.object({
  kind: z.literal('config'),
  format: z.literal(CONFIG_FORMAT),
  epoch: z.int().min(1),
  sequence: z.int().min(1),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
});

export const endSchema = z.object({ kind: z.literal('end'), items: z.int().min(0) });

/** What `GET /config` and a successful `PUT /config` answer: never a key, a token or a rule. */
export const configStateSchema = z.object({
  epoch: z.int(),
  sequence: z.int(),
  digest: z.string(),
  routes: z.int(),
  rules: z.int(),
  backends: z.int(),
  tunnels: z.int(),
  /** What this proxy could not do: ports that cannot be opened, items put aside, rules that answer 500 for it; at most 20. */
  problems: z.array(z.string()).optional(),
  ready: z.boolean(),
  appliedAt: z.string().optional(),
});

export type HeaderModifier = z.infer<typeof headerModifier>;
export type PathModifier = z.infer<typeof pathModifier>;
export type FilterConfig = z.infer<typeof filterSchema>;
export type MatchConfig = z.infer<typeof matchSchema>;
export type ValueMatchConfig = z.infer<typeof valueMatch>;
export type WeightedBackendConfig = z.infer<typeof weightedBackendSchema>;
export type RuleConfig = z.infer<typeof ruleSchema>;
export type AttachmentConfig = z.infer<typeof attachmentSchema>;
export type RouteConfig = z.infer<typeof routeSchema>;
export type BackendConfig = z.infer<typeof backendSchema>;
export type ListenerConfig = z.infer<typeof listenerSchema>;
export type EntryConfig = z.infer<typeof entrySchema>;
export type CertificateConfig = z.infer<typeof certificateSchema>;
export type LocalListenerConfig = z.infer<typeof localListenerSchema>;
export type LocalEntryConfig = z.infer<typeof localEntrySchema>;
export type TunnelConfig = z.infer<typeof tunnelSchema>;
export type ConfigItem = z.infer<typeof itemSchema>;
export type ConfigHeader = z.infer<typeof headerSchema>;
export type ConfigState = z.infer<typeof configStateSchema>;

/** The whole configuration in memory, items by kind. */
export interface ProxyConfig {
  readonly tunnels: readonly TunnelConfig[];
  readonly entries: readonly EntryConfig[];
  readonly certificates: readonly CertificateConfig[];
  readonly localEntries: readonly LocalEntryConfig[];
  readonly backends: readonly BackendConfig[];
  readonly routes: readonly RouteConfig[];
}
