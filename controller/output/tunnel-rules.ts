// Rules of a tunnel document: reading them, comparing them, which hosts they take, and whether they are ours.
import type { TunnelPlan } from '../api/plan.ts';

/** One rule as Cloudflare holds it; `raw` is kept because it may have keys that we do not know. */
export interface StoredRule {
  readonly raw: unknown;
  readonly hostname: string | undefined;
  readonly path: string | undefined;
  readonly service: string | undefined;
}

export function readRules(ingress: unknown): readonly StoredRule[] {
  if (!Array.isArray(ingress)) return [];
  return ingress.map((raw: unknown): StoredRule => {
    const rule = (typeof raw === 'object' && raw !== null ? raw : {}) as Readonly<Record<string, unknown>>;
    const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
    return { raw, hostname: text(rule['hostname']), path: text(rule['path']), service: text(rule['service']) };
  });
}

export const isWildcard = (hostname: string | undefined): boolean => hostname === undefined || hostname === '' || hostname.startsWith('*');

/**
 * Whether a rule for `pattern` takes every host of `hostname` (lower case, exact or a wildcard). A wildcard takes any number of labels but not the bare
 * domain, and no hostname, an empty one or `*` takes all.
 */
export function covers(pattern: string | undefined, hostname: string): boolean {
  if (pattern === undefined || pattern === '' || pattern === '*') return true;
  const lower = pattern.toLowerCase();
  if (lower === hostname) return true;
  return lower.startsWith('*.') && hostname.length > lower.length - 1 && hostname.endsWith(lower.slice(1));
}

const loopback = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})\/?$/;

/** The settings that rules of ours carry. They mark a rule as ours after its port has changed or when no route is left. */
export const OWN_ORIGIN_REQUEST = { connectTimeout: 5, keepAliveConnections: 1024 } as const;

/** Ports of the proxy beside the connector, as the plan names them. */
export function ownPorts(plan: Pick<TunnelPlan, 'rules' | 'last'>): ReadonlySet<string> {
  const ports = [...plan.rules, plan.last].map(({ service }) => loopback.exec(service)?.[1]);
  return new Set(ports.filter((port) => port !== undefined));
}

/**
 * Ours is what leads to the proxy: loopback as cloudflared sees it, on a port of the plan, or on any port with our settings. Someone's own
 * `http://localhost:3000` beside another connector is not ours.
 */
export function isOwnService(rule: StoredRule | undefined, ports: ReadonlySet<string>): boolean {
  const port = loopback.exec(rule?.service ?? '')?.[1];
  return port !== undefined && (ports.has(port) || hasOwnSettings(rule?.raw));
}

function hasOwnSettings(raw: unknown): boolean {
  const settings = (raw as { readonly originRequest?: Readonly<Record<string, unknown>> | null } | null | undefined)?.originRequest;
  return Object.entries(OWN_ORIGIN_REQUEST).every(([name, value]) => settings?.[name] === value);
}

/** Equal as far as traffic goes: neither key order, nor the `id` that the dashboard adds, nor empty settings make a difference. */
export function sameRules(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((rule, index) => canonical(meaning(rule)) === canonical(meaning(b[index])));
}

function meaning(rule: unknown): unknown {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) return rule;
  return Object.fromEntries(
    Object.entries(rule).filter(([name, value]) => {
      if (name === 'id' || value === undefined || value === null) return false;
      if (name === 'hostname' || name === 'path') return value !== '' && !(name === 'hostname' && value === '*');
      return !(name === 'originRequest' && typeof value === 'object' && Object.keys(value as object).length === 0);
    }),
  );
}

/** JSON with sorted keys: equal for equal values whatever the order that they were written in. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
        : inner,
    ) ?? ''
  );
}
