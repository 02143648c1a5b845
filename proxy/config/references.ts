// References between items: what points nowhere is cut off where it is used, so that everything else can go on.
import type { ItemProblem } from './item.ts';
import type { AttachmentConfig, LocalEntryConfig, ProxyConfig, RouteConfig, RuleConfig, TunnelConfig } from './schema.ts';

/** Routes checked in one step. */
const ROUTES_PER_STEP = 200;

/**
 * The configuration without dangling references, and what was cut. A share of traffic to an unknown backend gets 500, an attachment to an
 * unknown listener is left out, a tunnel without its entry is not connected, a listener goes on with the certificates that there are. Yields
 * between slices of routes.
 */
export function* referenceSteps(
  config: ProxyConfig,
): Generator<void, { readonly config: ProxyConfig; readonly problems: readonly ItemProblem[] }> {
  const problems: ItemProblem[] = [];
  const backends = new Set(config.backends.map(({ id }) => id));
  const listeners = new Map<string, ReadonlySet<string>>();
  for (const entry of [...config.entries, ...config.localEntries]) listeners.set(entry.id, new Set(entry.listeners.map(({ id }) => id)));
  const certificates = new Set(config.certificates.map(({ id }) => id));
  const localEntries = config.localEntries.map((entry) => checkCertificates(entry, certificates, problems));
  yield;
  const tunnels = config.tunnels.filter((tunnel: TunnelConfig) => {
    if (listeners.has(tunnel.entry)) return true;
    problems.push({
      item: tunnel.id,
      field: 'entry',
      message: `there is no entry ${JSON.stringify(tunnel.entry)}: the tunnel is not connected`,
    });
    return false;
  });
  const routes: RouteConfig[] = [];
  for (const route of config.routes) {
    routes.push(checkRoute(route, { backends, listeners, problems }));
    if (routes.length % ROUTES_PER_STEP === 0) yield;
  }
  return { config: { ...config, tunnels, localEntries, routes }, problems };
}

function checkCertificates(entry: LocalEntryConfig, known: ReadonlySet<string>, problems: ItemProblem[]): LocalEntryConfig {
  const listeners = entry.listeners.map((listener, index) => {
    const missing = listener.certificates?.filter((id) => !known.has(id)) ?? [];
    if (missing.length === 0) return listener;
    const field = `listeners[${index}].certificates`;
    problems.push(...missing.map((id) => ({ item: entry.id, field, message: `there is no certificate ${JSON.stringify(id)}` })));
    return { ...listener, certificates: listener.certificates?.filter((id) => known.has(id)) };
  });
  return { ...entry, listeners };
}

interface Known {
  readonly backends: ReadonlySet<string>;
  readonly listeners: ReadonlyMap<string, ReadonlySet<string>>;
  /** Problems found are added here. */
  readonly problems: ItemProblem[];
}

function checkRoute(route: RouteConfig, known: Known): RouteConfig {
  const attachments = route.attachments.filter((attachment, index) => isAttached(attachment, `attachments[${index}]`, route.id, known));
  const rules = route.rules.map((rule, index) => checkRule(rule, `rules[${index}]`, route.id, known));
  const isWhole = attachments.length === route.attachments.length && rules.every((rule, index) => rule === route.rules[index]);
  return isWhole ? route : { ...route, attachments, rules };
}

function isAttached({ entry, listener }: AttachmentConfig, field: string, item: string, { listeners, problems }: Known): boolean {
  if (listeners.get(entry)?.has(listener) === true) return true;
  problems.push({ item, field, message: `there is no listener ${JSON.stringify(listener)} at entry ${JSON.stringify(entry)}` });
  return false;
}

function checkRule(rule: RuleConfig, field: string, item: string, { backends, problems }: Known): RuleConfig {
  if (rule.backends.every(({ backend }) => backend === undefined || backends.has(backend))) return rule;
  const checked = rule.backends.map((choice, index): RuleConfig['backends'][number] => {
    const { backend, ...rest } = choice;
    if (backend === undefined || backends.has(backend)) return choice;
    problems.push({ item, field: `${field}.backends[${index}].backend`, message: `there is no backend ${JSON.stringify(backend)}` });
    return { ...rest, status: rest.status ?? 500 };
  });
  return { ...rule, backends: checked };
}
