// Flags and environment → one frozen configuration of the controller. Every flag can be set as CF_<UPPER_SNAKE>; flags win.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { isUsableToken, UNUSABLE_TOKEN } from '#proxy/config/psk.ts';
import type { Settings } from './api/settings.ts';
import { nearest } from './watch/folder/finding.ts';

const flag = z
  .string()
  .default('false')
  .transform((text) => text === '' || text === 'true' || text === '1');

const key = (fallback: string) => z.string().min(1).default(fallback);

/** `namespace/name`, empty for none. */
const secretRef = z
  .string()
  .default('')
  .refine((text) => text === '' || /^[^/\s]+\/[^/\s]+$/.test(text), { message: 'must be namespace/name' });

const endpoints = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  )
  .refine((urls) => urls.every((url) => isHttpUrl(url)), {
    message: 'must be a comma-separated list of http(s) URLs such as http://proxy-headless.namespace.svc:8081/config',
  });

const address = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .refine((text) => Number(/:(\d{1,5})$/.exec(text)?.[1] ?? Infinity) <= 65_535, { message: 'must be an address such as :8080' });

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

/** Line breaks around it come from files. */
const authToken = z
  .string()
  .default('')
  .transform((text) => text.trim())
  .refine((text) => text === '' || isUsableToken(text), { message: UNUSABLE_TOKEN });

/** Every flag with its default; the names are those of existing charts and manifests. */
const flags = z.object({
  'log-level': z.enum(['debug', 'info', 'warn', 'error']).catch('info').default('info'),
  'log-format': z.enum(['json', 'text']).default('json'),
  'cluster-domain': z.string().default(''),
  'controller-name': key('cf.k8s.lex.la/tunnel-controller'),
  'metrics-addr': address(':8080'),
  'health-addr': address(':8081'),
  'leader-elect': flag,
  'leader-election-namespace': z.string().default(''),
  'leader-election-name': key('cloudflare-tunnel-gateway-controller-leader'),
  'proxy-endpoints': endpoints,
  'proxy-auth-token': authToken,
  'proxy-auth-secret-ref': secretRef,
  'proxy-auth-secret-key': key('auth-token'),
  'proxy-auth-secret-generate': flag,
  'proxy-token-secret': secretRef,
  'proxy-deployment-label': z.string().default(''),
  'local-entry': flag,
  'tunnels-per-pool': z.coerce.number().int().min(1).max(1000).default(20),
  'tunnel-protocol': z.enum(['auto', 'http2', 'quic']).default('auto'),
  'proxy-image': z.string().default(''),
  'hostname-ownership-enforce': flag,
  'hostname-ownership-label-key': key('cf.k8s.lex.la/hostname-suffix'),
  'hostname-ownership-namespace-selector': z.string().default(''),
  // Ours.
  'hostname-ownership-unlabelled': z.enum(['Deny', 'Ignore']).default('Deny'),
  'hostname-ownership-empty-hostnames': z.enum(['Reject', 'Scope']).default('Reject'),
  'monitoring-namespace-selector': z.string().default(''),
  'render-network-policy': z.string().default('true'),
  'tracing-enabled': flag,
  'tracing-endpoint': z.string().default(''),
  'tracing-sample-rate': z.coerce.number().min(0).max(1).default(1),
  'gateway-class-name': z.string().default(''),
  // Ours: without a cluster, and for tests.
  'watch-dir': z.string().default(''),
  'status-dir': z.string().default(''),
  'state-dir': z.string().default(''),
  kubeconfig: z.string().default(''),
  'cloudflare-api-url': z
    .string()
    .default('')
    .refine((text) => text === '' || isHttpUrl(text), { message: 'must be an http(s) URL such as https://api.cloudflare.com/client/v4' }),
  'tunnel-entry-port': z.coerce.number().int().min(1).max(65535).default(8080),
});

export interface ControllerConfig {
  readonly settings: Settings;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  readonly logFormat: 'json' | 'text';
  readonly metricsAddress: string;
  readonly healthAddress: string;
  readonly leaderElect: boolean;
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly proxyEndpoints: readonly string[];
  readonly proxyAuth: { readonly token: string; readonly secretRef: string; readonly key: string; readonly generate: boolean };
  /** A folder of YAML instead of a cluster; empty for Kubernetes. */
  readonly watchDir: string;
  readonly statusDir: string;
  readonly stateDir: string;
  readonly kubeconfig: string;
  /** Another base URL of Cloudflare's API; empty for the real one. */
  readonly cloudflareApiUrl: string;
  /** Loopback port of the first tunnel; further ones are counted from 8100 (or this plus 20, when it was changed). */
  readonly entryPort: number;
}

/** The cluster's domain: given, or the first `svc.<domain>` of the resolver's search list, or cluster.local. */
function clusterDomain(given: string, resolvConf: string): string {
  return given || /^search\b.*?\ssvc\.(\S+)/m.exec(resolvConf)?.[1] || 'cluster.local';
}

function readOptional(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

/** Configuration, or what is wrong with it, one line per flag. */
export function readConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ControllerConfig | { readonly errors: readonly string[] } {
  const names = Object.keys(flags.shape);
  const given = new Map<string, string>();
  for (const name of names) {
    const value = env[environmentName(name)];
    if (value !== undefined && value !== '') given.set(name, value);
  }
  const { tokens } = parseArgs({ args: [...argv], strict: false, tokens: true, allowPositionals: true, options: options(names) });
  const unknown: string[] = [];
  for (const token of tokens) {
    // Not shown: it may be the secret value of a flag that is misspelt.
    if (token.kind === 'positional') unknown.push(`argument ${token.index + 1} is not a flag: write --name=value`);
    if (token.kind !== 'option') continue;
    if (!names.includes(token.name)) unknown.push(unknownFlag(token.name, names));
    else given.set(token.name, token.value ?? 'true');
  }
  const parsed = flags.safeParse(Object.fromEntries(given));
  const wrong = parsed.success ? [] : parsed.error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`);
  if (!parsed.success || unknown.length > 0) return { errors: [...unknown, ...wrong] };
  return assemble(parsed.data, env);
}

function unknownFlag(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  return `--${name} is not a flag of this controller${meant === null ? ' (--help lists them)' : `; did you mean --${meant}?`}`;
}

/** For `--help`: each flag and the environment variable that does the same. */
export const helpLines = (): readonly string[] =>
  Object.keys(flags.shape).map((name) => `  --${name}=…`.padEnd(52) + environmentName(name));

const environmentName = (flag: string): string => `CF_${flag.replaceAll('-', '_').toUpperCase()}`;

/** Boolean flags take no value unless written with `=`, as users of Go programs expect. */
function options(names: readonly string[]): Record<string, { type: 'string' | 'boolean' }> {
  const booleans = new Set([
    'leader-elect',
    'local-entry',
    'proxy-auth-secret-generate',
    'hostname-ownership-enforce',
    'tracing-enabled',
    'render-network-policy',
  ]);
  return Object.fromEntries(names.map((name) => [name, { type: booleans.has(name) ? 'boolean' : 'string' }]));
}

function assemble(
  data: z.infer<typeof flags>,
  env: Readonly<Record<string, string | undefined>>,
): ControllerConfig | { readonly errors: readonly string[] } {
  const [watched, written] = [data['watch-dir'], data['status-dir']].map((dir) => (dir === '' ? null : path.resolve(dir)));
  if (watched && written && `${written}/`.startsWith(`${watched}/`)) {
    return { errors: ['--status-dir: must not lie in --watch-dir: the statuses would be read as objects'] };
  }
  if (data['proxy-endpoints'].length === 0) return { errors: ['--proxy-endpoints: is required: the config URL of the proxies'] };
  const namespace = env['CONTROLLER_NAMESPACE'] || readOptional('/var/run/secrets/kubernetes.io/serviceaccount/namespace') || 'default';
  return Object.freeze({
    settings: Object.freeze({
      controllerName: data['controller-name'],
      controllerNamespace: namespace,
      clusterDomain: clusterDomain(data['cluster-domain'], readOptional('/etc/resolv.conf')),
      ownership: {
        enforce: data['hostname-ownership-enforce'],
        labelKey: data['hostname-ownership-label-key'],
        namespaceSelector: data['hostname-ownership-namespace-selector'],
        unlabelled: data['hostname-ownership-unlabelled'],
        emptyHostnames: data['hostname-ownership-empty-hostnames'],
      },
      tokenSecret: data['proxy-token-secret'] || null,
      makesTunnels: data['watch-dir'] === '',
      tunnelsPerPool: data['tunnels-per-pool'],
      tunnelProtocol: data['tunnel-protocol'],
      allowLoopbackEndpoints: data['watch-dir'] !== '',
      // There are no Services but those of files.
      localEntry: data['local-entry'] && data['watch-dir'] === '',
    }),
    logLevel: data['log-level'],
    logFormat: data['log-format'],
    metricsAddress: data['metrics-addr'],
    healthAddress: data['health-addr'],
    leaderElect: data['leader-elect'],
    lease: { namespace: data['leader-election-namespace'] || namespace, name: data['leader-election-name'] },
    proxyEndpoints: data['proxy-endpoints'],
    proxyAuth: {
      token: data['proxy-auth-token'],
      secretRef: data['proxy-auth-secret-ref'],
      key: data['proxy-auth-secret-key'],
      generate: data['proxy-auth-secret-generate'],
    },
    watchDir: data['watch-dir'],
    statusDir: data['status-dir'],
    stateDir: data['state-dir'],
    kubeconfig: data.kubeconfig,
    cloudflareApiUrl: data['cloudflare-api-url'],
    entryPort: data['tunnel-entry-port'],
  });
}
