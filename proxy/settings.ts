// Environment → frozen settings of the proxy. The only place that reads process.env; names are those that existing charts set.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { isUsableToken, UNUSABLE_TOKEN } from './config/psk.ts';

/** `300ms`, `10s`, `1m30s`, `2h` → milliseconds. */
export function parseDuration(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return null;
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
    (sum, [, value, unit]) => sum + Number(value) * (units[unit ?? ''] ?? 0),
    0,
  );
}

const duration = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text, context) => {
      const ms = parseDuration(text);
      if (ms === null) context.addIssue({ code: 'custom', message: `'${text}' is not a duration such as 30s or 1m30s` });
      return ms ?? 0;
    });

const flag = (fallback: boolean) =>
  z
    .string()
    .optional()
    .transform((text) => (text === undefined || text === '' ? fallback : text === '1' || text.toLowerCase() === 'true'));

/** Host '' means every interface. `:8081`, `127.0.0.1:8081` or `[::1]:8081`. */
const address = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text, context) => {
      const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
      const port = Number(match?.[3]);
      if (!match || port > 65_535)
        context.addIssue({ code: 'custom', message: `'${text}' is not an address such as :8081 or 127.0.0.1:8081` });
      return { host: match?.[1] ?? match?.[2] ?? '', port };
    });

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  );

/** Every variable that the proxy reads, with its default. An empty string counts as unset, except for the auth token. */
const environment = z.object({
  TUNNEL_TOKEN: z.string().default(''),
  PROXY_TUNNEL_TOKEN_FILE: z.string().default(''),
  PROXY_CONFIG_ADDR: address(':8081'),
  PROXY_ADDR: address(':8080'),
  PROXY_ENTRY_ADDRESS: z.string().default(''),
  PROXY_TRUSTED_HOPS: z.coerce.number().int().min(0).max(16).default(0),
  PROXY_AUTH_TOKEN: z.string().optional(),
  PROXY_INSECURE_CONFIG_API: flag(false),
  PROXY_TUNNEL_PROTOCOL: z.enum(['auto', 'http2', 'quic']).default('auto'),
  PROXY_GRACE_PERIOD: duration('30s'),
  PROXY_METRICS_ENABLED: flag(true),
  PROXY_ACCESS_LOG_ENABLED: flag(false),
  PROXY_ACCESS_LOG_SAMPLING_RATE: z.coerce.number().min(0).max(1).default(1),
  PROXY_ACCESS_LOG_STRIP_QUERY: flag(false),
  PROXY_CONNECTOR: z.enum(['cloudflared', 'native']).default('cloudflared'),
  CLOUDFLARED: z.string().default('cloudflared'),
  PROXY_EDGE: list,
  PROXY_EDGE_CA: z.string().default(''),
  PROXY_STATE_DIR: z.string().default('/var/run/cftunnel'),
  PROXY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
});

export interface ProxySettings {
  /** Connector token of the plane's own tunnel; empty in standalone use, where the entry port is opened on `standaloneAddress`. */
  readonly tunnelToken: string;
  /** A mounted Secret that wins over `tunnelToken` and is read again when it changes; empty when there is none. */
  readonly tunnelTokenFile: string;
  readonly configAddress: { readonly host: string; readonly port: number };
  readonly standaloneAddress: { readonly host: string; readonly port: number };
  /** Where the proxy's own entry listens; empty: on every address of the machine. */
  readonly entryAddress: string;
  /** Proxies in front of the own entry whose `X-Forwarded-*` are believed. */
  readonly trustedHops: number;
  /** null: the config API is open, on explicit request only. */
  readonly authToken: string | null;
  readonly tunnelProtocol: 'auto' | 'http2' | 'quic';
  readonly graceMs: number;
  readonly metrics: boolean;
  readonly accessLog: { readonly enabled: boolean; readonly samplingRate: number; readonly stripQuery: boolean };
  readonly connector: 'cloudflared' | 'native';
  readonly cloudflared: string;
  /** `host:port` list; empty means that the connector discovers the edge. */
  readonly edge: readonly string[];
  /** PEM, empty for the system's roots; and the file that it came from, for a connector that wants a path. */
  readonly edgeCa: string;
  readonly edgeCaFile: string;
  readonly stateDir: string;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

/** A name is looked up on PATH now, because the child gets none of our environment; one that is not found is reported when it is started. */
function findProgram(name: string, searchPath: string): string {
  if (name.includes('/')) return name;
  const places = searchPath.split(':').filter(Boolean);
  return places.map((place) => path.join(place, name)).find((file) => existsSync(file)) ?? name;
}

/** For `--help`: the proxy has no flags. */
export const helpLines = (): readonly string[] => Object.keys(environment.shape).map((name) => `  ${name}`);

const MAX_GRACE_MS = 180_000;

/** Settings, or what is wrong with the environment, one line per variable. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): ProxySettings | { readonly errors: readonly string[] } {
  const given = Object.fromEntries(Object.entries(env).filter(([name, value]) => value !== '' || name === 'PROXY_AUTH_TOKEN'));
  const parsed = environment.safeParse(given);
  if (!parsed.success) return { errors: parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) };
  const { data } = parsed;
  // The controller, too, takes it without the line break of a Secret that was made from a file.
  const token = data.PROXY_AUTH_TOKEN?.trim();
  if (!token && (token === '' || !data.PROXY_INSECURE_CONFIG_API)) {
    const why = token === '' ? 'is set but empty' : 'is not set, so anybody who reaches the port could reroute all traffic';
    return {
      errors: [
        `PROXY_AUTH_TOKEN: ${why}. Give the controller and the proxy the same token, or set PROXY_INSECURE_CONFIG_API=true for local use`,
      ],
    };
  }
  if (token !== undefined && !isUsableToken(token)) return { errors: [`PROXY_AUTH_TOKEN: ${UNUSABLE_TOKEN}`] };
  let edgeCa = '';
  try {
    if (data.PROXY_EDGE_CA !== '') edgeCa = readFileSync(data.PROXY_EDGE_CA, 'utf8');
  } catch (error) {
    return { errors: [`PROXY_EDGE_CA: cannot read ${data.PROXY_EDGE_CA}: ${(error as Error).message}`] };
  }
  return Object.freeze({
    tunnelToken: data.TUNNEL_TOKEN.trim(),
    tunnelTokenFile: data.PROXY_TUNNEL_TOKEN_FILE,
    configAddress: data.PROXY_CONFIG_ADDR,
    standaloneAddress: data.PROXY_ADDR,
    entryAddress: data.PROXY_ENTRY_ADDRESS,
    trustedHops: data.PROXY_TRUSTED_HOPS,
    authToken: token ?? null,
    tunnelProtocol: data.PROXY_TUNNEL_PROTOCOL,
    graceMs: Math.min(data.PROXY_GRACE_PERIOD || 30_000, MAX_GRACE_MS),
    metrics: data.PROXY_METRICS_ENABLED,
    accessLog: {
      enabled: data.PROXY_ACCESS_LOG_ENABLED,
      samplingRate: data.PROXY_ACCESS_LOG_SAMPLING_RATE,
      stripQuery: data.PROXY_ACCESS_LOG_STRIP_QUERY,
    },
    connector: data.PROXY_CONNECTOR,
    cloudflared: findProgram(data.CLOUDFLARED, env['PATH'] ?? ''),
    edge: data.PROXY_EDGE,
    edgeCa,
    edgeCaFile: data.PROXY_EDGE_CA,
    stateDir: data.PROXY_STATE_DIR,
    logLevel: data.PROXY_LOG_LEVEL,
  });
}
