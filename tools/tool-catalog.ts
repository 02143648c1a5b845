// The catalogue of Go programs that tests and people use here: what each is for, where its source is, what its build depends on. Pure.
import { createHash } from 'node:crypto';

/** One thing that `npm run tools` makes. `module` is the folder below tools/go that locks its dependencies. */
interface ToolEntry {
  readonly does: string;
  readonly module: string;
  /** The Go module whose version in go.mod is the tool's version. */
  readonly versionOf: string;
  /** The Go package to build; null for the CRDs, which are copied out of the module. */
  readonly package: string | null;
  /** Build the package's tests into a program instead. */
  readonly tests?: true;
  /** Values set at link time, `$v` stands for the version. Without them a program built as a module does not know its version. */
  readonly linked: readonly string[];
}

// helm refuses a chart's `kubeVersion` when the API server calls itself v0.0.0, so all three numbers are set.
const kubernetes = (command: string, does: string): ToolEntry => ({
  does,
  module: 'kube',
  versionOf: 'k8s.io/kubernetes',
  package: `k8s.io/kubernetes/cmd/${command}`,
  linked: [
    'k8s.io/component-base/version.gitVersion=$v',
    'k8s.io/component-base/version.gitMajor=$major',
    'k8s.io/component-base/version.gitMinor=$minor',
  ],
});

// The quick ones come first: an interrupted run leaves the most.
const catalog = {
  'gateway-api-crds': {
    does: 'the Gateway API CRDs, standard and experimental channel',
    module: 'gateway-api',
    versionOf: 'sigs.k8s.io/gateway-api',
    package: null,
    linked: [],
  },
  etcd: {
    does: "the test cluster's database",
    module: 'etcd',
    versionOf: 'go.etcd.io/etcd/server/v3',
    package: 'go.etcd.io/etcd/server/v3',
    linked: [],
  },
  'kube-apiserver': kubernetes('kube-apiserver', 'the real Kubernetes API'),
  'kube-controller-manager': kubernetes('kube-controller-manager', 'Deployments, EndpointSlices, ServiceAccounts, garbage collection'),
  kubectl: kubernetes('kubectl', 'the command line client of the same release'),
  'echo-basic': {
    does: "the conformance suite's own backend",
    module: 'gateway-api',
    versionOf: 'sigs.k8s.io/gateway-api/conformance',
    package: 'sigs.k8s.io/gateway-api/conformance/echo-basic',
    linked: [],
  },
  'conformance-suite': {
    does: 'the official conformance suite, unmodified',
    module: 'conformance',
    versionOf: 'sigs.k8s.io/gateway-api/conformance',
    package: 'sigs.k8s.io/gateway-api/conformance',
    tests: true,
    linked: [],
  },
  grpcurl: {
    does: 'a gRPC client for the command line',
    module: 'grpcurl',
    versionOf: 'github.com/fullstorydev/grpcurl',
    package: 'github.com/fullstorydev/grpcurl/cmd/grpcurl',
    linked: ['main.version=$v'],
  },
  kubeconform: {
    does: 'checks rendered manifests against schemas',
    module: 'kubeconform',
    versionOf: 'github.com/yannh/kubeconform',
    package: 'github.com/yannh/kubeconform/cmd/kubeconform',
    linked: ['main.version=$v'],
  },
  helm: {
    does: 'renders, lints and installs the chart',
    module: 'helm',
    versionOf: 'helm.sh/helm/v4',
    package: 'helm.sh/helm/v4/cmd/helm',
    linked: ['helm.sh/helm/v4/internal/version.version=$v'],
  },
  'helm-unittest': {
    does: "runs the chart's unit tests",
    module: 'helm-unittest',
    versionOf: 'github.com/helm-unittest/helm-unittest',
    package: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
    linked: ['github.com/helm-unittest/helm-unittest/internal/build.version=$v'],
  },
} as const satisfies Record<string, ToolEntry>;

export type ToolName = keyof typeof catalog;

export const toolNames = Object.keys(catalog) as readonly ToolName[];

export const toolEntry = (name: ToolName): ToolEntry => catalog[name];

export const isToolName = (name: string): name is ToolName => Object.hasOwn(catalog, name);

/** The locked sources of one tool: the text of its module's two files. */
export interface LockedModule {
  readonly goMod: string;
  readonly goSum: string;
}

/** Everything needed to build a tool, and `folder`, the name under which the result is kept: it changes whenever an input does. */
export interface Recipe {
  readonly name: ToolName;
  readonly version: string;
  readonly ldflags: string;
  readonly folder: string;
}

/** `platform` is where the result runs, e.g. `linux-x64`: a cache may be shared between machines. */
export function recipe(name: ToolName, locked: LockedModule, platform: string): Recipe {
  const entry = toolEntry(name);
  const version = moduleVersion(locked.goMod, entry.versionOf);
  const ldflags = ['-s -w', ...entry.linked.map((value) => `-X ${fillVersion(value, version)}`)].join(' ');
  const inputs = [entry.package ?? '', ldflags, locked.goMod, locked.goSum, platform];
  const digest = createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 12);
  return { name, version, ldflags, folder: `${name}-${version}-${digest}` };
}

/** The version that a go.mod requires of a module. Throws if it requires none: the catalogue and the file disagree. */
export function moduleVersion(goMod: string, modulePath: string): string {
  for (const line of goMod.split('\n')) {
    const [path, version] = line
      .trim()
      .replace(/^require\s+/, '')
      .split(/\s+/);
    if (path === modulePath && version?.startsWith('v')) return version;
  }
  throw new Error(`go.mod does not require ${modulePath}`);
}

/** The oldest Go that a go.mod allows, e.g. `1.26.0`. */
export function requiredGo(goMod: string): string {
  const version = /^go (\d+\.\d+(?:\.\d+)?)$/m.exec(goMod)?.[1];
  if (version === undefined) throw new Error('go.mod has no go line');
  return version;
}

function fillVersion(template: string, version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  return template.replace('$v', version).replace('$major', major).replace('$minor', minor);
}
