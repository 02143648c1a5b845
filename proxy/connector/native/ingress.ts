// Reads a tunnel document and finds the rule of a request, with the meaning that cloudflared gives it. No IO, no clock.
//
// A document is taken or refused as a whole: a rule that cannot be read must not silently send its traffic to a later rule.
import { domainToASCII } from 'node:url';
import { RE2JS } from 're2js';
import { z } from 'zod';

/** Where the requests of a rule go. */
export type Service =
  /** An origin reached over HTTP/1.1 in clear text. */
  | { readonly kind: 'http'; readonly host: string; readonly port: number; readonly settings: OriginSettings }
  /** A fixed answer without a body. */
  | { readonly kind: 'status'; readonly status: number }
  /** Legal for cloudflared, not served here: such requests fail and the reason is logged, the other rules work. */
  | { readonly kind: 'unsupported'; readonly reason: string };

export interface OriginSettings {
  readonly connectTimeoutMs: number;
  readonly keepAliveConnections: number;
  readonly keepAliveTimeoutMs: number;
  /** Sent as Host instead of the visitor's, or null. */
  readonly hostHeader: string | null;
}

export interface IngressRule {
  readonly hostname: string;
  /** The hostname's ASCII form, where it has another one. */
  readonly asciiHostname: string | null;
  readonly path: RE2JS | null;
  readonly service: Service;
}

export interface TunnelDocument {
  readonly rules: readonly IngressRule[];
}

export type ParsedDocument = { readonly document: TunnelDocument } | { readonly error: string };

/** Answers everything with 503: a tunnel without a document, or with an empty one. */
export const EMPTY_DOCUMENT: TunnelDocument = {
  rules: [{ hostname: '', asciiHostname: null, path: null, service: { kind: 'status', status: 503 } }],
};

const seconds = z.int().min(0).nullish();
const originRequestSchema = z
  .object({
    connectTimeout: seconds,
    tlsTimeout: seconds,
    tcpKeepAlive: seconds,
    keepAliveTimeout: seconds,
    keepAliveConnections: z.int().nullish(),
    httpHostHeader: z.string().nullish(),
    access: z.object({ required: z.boolean().nullish() }).nullish(),
  })
  .nullish();
const documentSchema = z
  .object({
    originRequest: originRequestSchema,
    ingress: z
      .array(
        z.object({
          hostname: z.string().nullish(),
          path: z.string().nullish(),
          service: z.string().nullish(),
          originRequest: originRequestSchema,
        }),
      )
      .nullish(),
  })
  .nullish();

type OriginRequest = z.infer<typeof originRequestSchema>;
type RuleInput = NonNullable<NonNullable<z.infer<typeof documentSchema>>['ingress']>[number];

/** A document that sends everything to one loopback port: what the command line's `--url` is to cloudflared. */
export function singleOriginDocument(port: number): TunnelDocument {
  const service: Service = { kind: 'http', host: '127.0.0.1', port, settings: originSettings(null, null) };
  return { rules: [{ hostname: '', asciiHostname: null, path: null, service }] };
}

/** The `config` of a pushed document. Its error names the rule (from 1) and what is wrong with it. */
export function parseDocument(config: unknown): ParsedDocument {
  const parsed = documentSchema.safeParse(config);
  if (!parsed.success) return { error: firstIssue(parsed.error) };
  const inputs = parsed.data?.ingress ?? [];
  if (inputs.length === 0) return { document: EMPTY_DOCUMENT };
  const rules: IngressRule[] = [];
  for (const [index, input] of inputs.entries()) {
    const rule = parseRule(input, parsed.data?.originRequest ?? null, index === inputs.length - 1);
    if (typeof rule === 'string') return { error: `ingress rule ${index + 1}: ${rule}` };
    rules.push(rule);
  }
  return { document: { rules } };
}

/** The rule of a request: the first that matches. `host` may have a port, `path` is percent-encoded and may have a query. */
export function findRule(document: TunnelDocument, host: string, path: string): IngressRule {
  const name = hostWithoutPort(host);
  let decoded: string | null = null;
  for (const rule of document.rules) {
    if (!hostnameMatches(rule, name)) continue;
    if (rule.path === null) return rule;
    decoded ??= decodePath(path);
    if (rule.path.test(decoded)) return rule;
  }
  // The last rule of every document matches everything.
  return document.rules.at(-1) as IngressRule;
}

function parseRule(input: RuleInput, defaults: OriginRequest, isLast: boolean): IngressRule | string {
  const hostname = input.hostname ?? '';
  const path = input.path ?? '';
  if (hostname.includes(':')) return 'the hostname must not have a port';
  if (hostname.lastIndexOf('*') > 0) return 'the hostname may have one wildcard, and only as its first label';
  const matchesAll = (hostname === '' || hostname === '*') && path === '';
  if (isLast && !matchesAll) return 'the last rule must match every request';
  if (!isLast && matchesAll) return 'only the last rule may match every request';
  const pattern = path === '' ? null : compilePath(path);
  if (typeof pattern === 'string') return pattern;
  const service = parseService(input.service ?? '', defaults, input.originRequest ?? null);
  if (typeof service === 'string') return service;
  return { hostname, asciiHostname: asciiForm(hostname), path: pattern, service };
}

/** The IDNA form, in lower case, if it is another one. Wildcards have none: `*` is no character of a domain name. */
function asciiForm(hostname: string): string | null {
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(hostname)) return null;
  const ascii = domainToASCII(hostname);
  return ascii === '' || ascii === hostname ? null : ascii;
}

function compilePath(path: string): RE2JS | string {
  try {
    return RE2JS.compile(path);
  } catch {
    return 'the path is not a regular expression in RE2 syntax';
  }
}

function parseService(text: string, defaults: OriginRequest, own: OriginRequest): Service | string {
  const fixed = /^http_status:(.*)$/.exec(text);
  if (fixed !== null) return parseStatus(fixed[1] ?? '');
  if (text === 'hello_world' || text === 'hello-world' || text === 'bastion' || text === 'socks-proxy') return unsupported(text);
  if (text.startsWith('unix:') || text.startsWith('unix+tls:')) return unsupported('a unix socket');
  const url = URL.parse(text);
  if (url === null || url.hostname === '' || !text.includes('://')) return 'the service is no URL with a scheme and a host';
  const rest = text.slice(text.indexOf('://') + 3);
  if (/[/?#]/.test(rest)) return 'the service must not have a path';
  if ((own?.access ?? defaults?.access)?.required === true) return unsupported('a rule that requires Access');
  if (url.protocol !== 'http:' && url.protocol !== 'ws:') return unsupported(`scheme ${url.protocol.slice(0, -1)}`);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return { kind: 'http', host, port: url.port === '' ? 80 : Number(url.port), settings: originSettings(defaults, own) };
}

function parseStatus(text: string): Service | string {
  if (!/^\d{3}$/.test(text) || Number(text) < 100) return 'http_status needs a status code from 100 to 999';
  const status = Number(text);
  // HTTP/2 in Node sends final statuses up to 599 only.
  return status >= 200 && status <= 599 ? { kind: 'status', status } : unsupported(`status ${status}`);
}

function unsupported(what: string): Service {
  return { kind: 'unsupported', reason: `this connector does not serve ${what}` };
}

/** The longest that a timer runs, in milliseconds. One that is told to wait longer fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

const milliseconds = (seconds: number): number => Math.min(seconds * 1000, LONGEST_TIMER);

function originSettings(defaults: OriginRequest, own: OriginRequest): OriginSettings {
  return {
    connectTimeoutMs: milliseconds(own?.connectTimeout ?? defaults?.connectTimeout ?? 30),
    keepAliveConnections: Math.max(0, own?.keepAliveConnections ?? defaults?.keepAliveConnections ?? 100),
    keepAliveTimeoutMs: milliseconds(own?.keepAliveTimeout ?? defaults?.keepAliveTimeout ?? 90),
    hostHeader: (own?.httpHostHeader ?? defaults?.httpHostHeader) || null,
  };
}

function hostnameMatches(rule: IngressRule, name: string): boolean {
  if (rule.hostname === '' || rule.hostname === '*') return true;
  return patternMatches(rule.hostname, name) || (rule.asciiHostname !== null && patternMatches(rule.asciiHostname, name));
}

/** A leading `*.` stands for one or more labels, never for none. Letter case counts on the request's side: cloudflared does not fold it. */
function patternMatches(pattern: string, name: string): boolean {
  return pattern.startsWith('*.') ? name.length > pattern.length - 1 && name.endsWith(pattern.slice(1)) : pattern === name;
}

function hostWithoutPort(host: string): string {
  if (host.startsWith('[')) return host.slice(1, host.indexOf(']'));
  const colon = host.lastIndexOf(':');
  return colon === -1 ? host : host.slice(0, colon);
}

function decodePath(target: string): string {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue === undefined ? 'unreadable' : `${issue.path.join('.') || 'document'}: ${issue.message}`;
}
