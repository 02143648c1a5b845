// The built helm on our chart: renders, lints, installs. It gets no home, no configuration and no cluster but the one that is named.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import os from 'node:os';
import path from 'node:path';
import { loadAll } from 'js-yaml';
import { buildHint, missingTools, toolPath } from '../../tools/tool-paths.ts';

export const chartFolder = path.join(import.meta.dirname, '..', '..', 'chart');
export const CHART_NAME = 'cloudflare-tunnel-gateway-controller';

/** Why nothing of the chart can be tested here, with the command that helps; null when it can. */
export function helmUnavailable(): string | null {
  const missing = missingTools(['helm']);
  return missing.length === 0 ? null : buildHint(missing);
}

/** What tests read of a rendered object. Fields that are absent are undefined. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export type Values = Readonly<Record<string, unknown>>;

/** What the chart cannot do without. */
export const required: Values = { proxy: { tunnelTokenSecretRef: { name: 'tunnel' } } };

export interface ReleaseOptions {
  readonly release?: string;
  readonly namespace?: string;
}

interface HelmResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What does not talk to a cluster keeps nothing, so it needs no home. */
const NO_HOME = path.join(os.tmpdir(), 'cftunnel-helm-has-no-home');

/** Runs helm; `values` arrive as its only values file, caches go to `home`. A failing command is a result. */
export async function helm(args: readonly string[], values: Values = {}, home = NO_HOME): Promise<HelmResult> {
  const program = toolPath('helm');
  if (program === null) throw new Error(buildHint(['helm']));
  const child = spawn(program, args, { env: { HOME: home }, stdio: 'pipe' });
  child.stdin.on('error', () => {}); // helm may refuse its arguments before it reads
  child.stdin.end(JSON.stringify(values));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

const templateArguments = ({ release = 'rel', namespace = 'system' }: ReleaseOptions): readonly string[] => [
  'template',
  release,
  chartFolder,
  '--namespace',
  namespace,
  '--values',
  '-',
];

/** The text that `helm template` prints. Fails the test when it refuses. */
export async function renderText(values: Values, options: ReleaseOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await helm(templateArguments(options), merged(required, values));
  if (code !== 0) throw new Error(`helm template refuses:\n${stderr}`);
  return stdout;
}

/** The rendered objects of the chart with `values` over those that are required. */
export async function render(values: Values = {}, options: ReleaseOptions = {}): Promise<readonly Manifest[]> {
  const documents = loadAll(await renderText(values, options)) as readonly (Manifest | null)[];
  return documents.filter((document) => document !== null);
}

/** What helm says when it refuses `values`, which here are all there are; null when it renders. */
export async function refusalOf(values: Values, options: ReleaseOptions = {}): Promise<string | null> {
  const { code, stderr } = await helm(templateArguments(options), values);
  return code === 0 ? null : stderr;
}

/** The only object of a kind, or that of the kind and name. Fails when there is none or more than one. */
export function one(objects: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = objects.filter((object) => object.kind === kind && (name === undefined || object.metadata.name === name));
  const [first] = found;
  if (first === undefined || found.length > 1) {
    throw new Error(`${found.length} of kind ${kind}${name === undefined ? '' : ` named ${name}`}, wanted one`);
  }
  return first;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: { readonly medium?: string }; readonly secret?: unknown }[];
}

interface DeploymentSpec {
  readonly replicas: number;
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: PodSpec;
  };
}

/** The Deployment whose only container has this name. */
export function deployment(objects: readonly Manifest[], container: 'controller' | 'proxy'): Manifest & { readonly spec: DeploymentSpec } {
  const found = objects.find(
    (object) => object.kind === 'Deployment' && (object['spec'] as DeploymentSpec).template.spec.containers[0]?.name === container,
  );
  if (found === undefined) throw new Error(`no Deployment of the ${container}`);
  return found as Manifest & { readonly spec: DeploymentSpec };
}

export function containerOf(objects: readonly Manifest[], container: 'controller' | 'proxy'): Container {
  const [only] = deployment(objects, container).spec.template.spec.containers;
  if (only === undefined) throw new Error(`no container in the Deployment of the ${container}`);
  return only;
}

/** `over` on `base`, objects merged key by key, as helm merges values. */
export function merged(base: Values, over: Values): Values {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = result[key];
    result[key] = isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return result;
}

const isObject = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);
