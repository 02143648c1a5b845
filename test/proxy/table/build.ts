// Small configurations and requests for tests of the route table: only what a test is about is written out.
import type { EntryConfig, ListenerConfig, MatchConfig, ProxyConfig, RouteConfig, RuleConfig } from '#proxy/config/schema.ts';
import { compileTable } from '#proxy/table/compile.ts';
import type { Arm, RequestKey, RouteTable } from '#proxy/table/types.ts';

export const ENTRY = 'shared';
export const PORT = 8080;

export function listener(config: Partial<ListenerConfig> = {}): ListenerConfig {
  const { protocol = 'HTTPS', port = protocol === 'HTTPS' ? 443 : 80, ...rest } = config;
  return { id: `Gateway/infra/public/${protocol}-${port}-${config.hostname ?? 'any'}`, protocol, port, ...rest };
}

export function entry(...listeners: readonly ListenerConfig[]): EntryConfig {
  return { kind: 'entry', id: ENTRY, port: PORT, listeners: [...listeners] };
}

export function rule(...matches: readonly MatchConfig[]): RuleConfig {
  return { matches: matches.length > 0 ? [...matches] : [{}], backends: [{ backend: 'b', weight: 1 }] };
}

export function prefix(value: string): MatchConfig {
  return { path: { type: 'PathPrefix', value } };
}

export function exact(value: string): MatchConfig {
  return { path: { type: 'Exact', value } };
}

export function pattern(value: string): MatchConfig {
  return { path: { type: 'RegularExpression', value } };
}

export interface RouteOptions {
  readonly type?: 'HTTP' | 'GRPC';
  readonly namespace?: string;
  readonly created?: string;
  readonly hostnames?: readonly string[];
  readonly listeners?: readonly ListenerConfig[];
  readonly rules?: readonly RuleConfig[];
}

/** A route attached to a listener for every host, unless told otherwise. */
export function route(name: string, options: RouteOptions = {}): RouteConfig {
  const {
    type = 'HTTP',
    namespace = 'default',
    created = '2026-01-01T00:00:00Z',
    hostnames = [],
    listeners = [listener()],
    rules = [rule()],
  } = options;
  return {
    kind: 'route',
    id: `${type}Route/${namespace}/${name}`,
    type,
    namespace,
    name,
    created,
    attachments: listeners.map(({ id }) => ({ entry: ENTRY, listener: id, hostnames: [...hostnames] })),
    rules: [...rules],
  };
}

export function config(routes: readonly RouteConfig[], entries: readonly EntryConfig[] = [entry(listener())]): ProxyConfig {
  const backend = { kind: 'backend', id: 'b', name: 'default/app:80', protocol: 'http1', endpoints: ['10.0.0.1:8080'] } as const;
  return {
    tunnels: [],
    entries,
    certificates: [],
    localEntries: [],
    backends: [{ ...backend, endpoints: [...backend.endpoints] }],
    routes,
  };
}

export function table(routes: readonly RouteConfig[], entries?: readonly EntryConfig[]): RouteTable {
  return compileTable(config(routes, entries));
}

export function request(key: Partial<RequestKey> & { readonly headers?: Readonly<Record<string, string>> } = {}): RequestKey {
  const { headers = {}, ...rest } = key;
  return {
    host: 'app.example.com',
    hostPort: 0,
    scheme: 'https',
    method: 'GET',
    path: '/',
    query: '',
    rawHeaders: Object.entries(headers).flat(),
    ...rest,
  };
}

export function match(routes: RouteTable, key: Parameters<typeof request>[0] = {}): Arm | null {
  const entryTable = routes.entries.get(PORT);
  if (entryTable === undefined) throw new Error(`no entry on port ${PORT}`);
  return entryTable.match(request(key));
}

/** The winner as `route[rule]`, or `none`: what most tests are about. */
export function winner(routes: RouteTable, key: Parameters<typeof request>[0] = {}): string {
  const arm = match(routes, key);
  return arm === null ? 'none' : `${arm.rule.routeId.split('/').at(-1)}[${arm.rule.ruleIndex}]`;
}
