// What a compiled configuration looks like to the data path. Built once per configuration, frozen, swapped as a whole.

/** Header edits with everything prepared at compile time: the exchange only skips and concatenates. */
export interface HeaderEdits {
  /** Lower-case names that do not pass: those removed and those set. */
  readonly remove: ReadonlySet<string>;
  /** Bit `length & 31` is set for each name in `remove`: most names are ruled out by their length alone. */
  readonly removeMask: number;
  /** Flat name, value pairs to append (`set`, then `add`). */
  readonly append: readonly string[];
  /** The same, serialised as `name: value\r\n`. */
  readonly appendText: string;
}

export interface PathEdit {
  readonly type: 'ReplaceFullPath' | 'ReplacePrefixMatch';
  readonly value: string;
}

export interface RedirectPlan {
  readonly scheme: 'http' | 'https' | null;
  readonly hostname: string | null;
  readonly port: number;
  readonly path: PathEdit | null;
  readonly statusCode: number;
}

export interface RewritePlan {
  readonly hostname: string | null;
  readonly path: PathEdit | null;
}

/** Where a share of a rule's requests goes. Either `backend` is set, or `status` says what the share is answered with. */
export interface BackendChoice {
  readonly backend: CompiledBackend | null;
  readonly status: number;
  /** Cumulative weight up to and including this choice: the first choice whose `upTo` exceeds the drawn number wins. */
  readonly upTo: number;
  /** The rule's edits, then the backendRef's. */
  readonly requestEdits: HeaderEdits | null;
  readonly responseEdits: HeaderEdits | null;
  readonly rewrite: RewritePlan | null;
  readonly redirect: RedirectPlan | null;
}

export interface CompiledBackend {
  readonly id: string;
  readonly name: string;
  readonly protocol: 'http1' | 'h2c';
  /** `address:port` or `[v6]:port`. */
  readonly endpoints: readonly string[];
  readonly fallback: string | null;
}

export interface CompiledRule {
  readonly routeId: string;
  readonly ruleIndex: number;
  readonly type: 'HTTP' | 'GRPC';
  /** 0, or the status that every request of this rule gets (fail closed). */
  readonly error: number;
  /** Answered by the proxy itself, before a backend is chosen. */
  readonly redirect: RedirectPlan | null;
  readonly responseEdits: HeaderEdits | null;
  readonly choices: readonly BackendChoice[];
  /** Sum of weights; 0 means that no backend may be chosen: 500. */
  readonly totalWeight: number;
  /** Milliseconds, 0 means none. */
  readonly requestTimeout: number;
  readonly backendRequestTimeout: number;
}

/** One match of one rule. `prefix` is the matched PathPrefix (without trailing slash; '' for '/'), null for other path types. */
export interface Arm {
  readonly rule: CompiledRule;
  readonly prefix: string | null;
  /** The effective hostname pattern under which it was found ('' for any): a bounded label for metrics. */
  readonly hostname: string;
}

/** What the table needs to know of a request. One reusable object per exchange; strings are slices of what arrived. */
export interface RequestKey {
  /** Lower case, without port or trailing dot. */
  host: string;
  /** Port that the visitor used: the one written in `Host`, 0 when absent; at the proxy's own entry the listener's. */
  hostPort: number;
  /** The visitor's scheme. */
  scheme: 'http' | 'https';
  method: string;
  /** Path as it arrived, without query; percent-encoding untouched. */
  path: string;
  /** Without `?`; '' when absent. */
  query: string;
  /** Flat name, value pairs as node:http gives them. */
  rawHeaders: readonly string[];
}

/** A certificate chain with its key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A listener of the proxy's own entry, as far as a handshake needs to know it. Told apart by identity. */
export interface LocalListener {
  /** As a pattern, '' for every host. */
  readonly hostname: string;
  readonly certificates: readonly KeyPair[];
}

/** What is known of a request at the proxy's own entry before a byte of it has come: the accepted socket decides it. */
export interface LocalEntry {
  /** The port that visitors dial. */
  readonly listenerPort: number;
  readonly protocol: 'HTTP' | 'HTTPS';
  /** The listener that owns a host (lower case; '' when the client names none), or null. */
  listenerOf(host: string): LocalListener | null;
  /** Of client certificates; `ca` is a PEM bundle. */
  readonly clientValidation: { readonly mode: 'AllowValidOnly' | 'AllowInsecureFallback'; readonly ca: string } | null;
}

/** Answers for one entry: a loopback port behind a tunnel, or one port of the proxy's own. */
export interface EntryTable {
  readonly id: string;
  /** Null behind a tunnel. */
  readonly local: LocalEntry | null;
  /** The winning match, or null (404). Allocates nothing per route. Pure. */
  match(request: RequestKey): Arm | null;
}

export interface RouteTable {
  readonly entries: ReadonlyMap<number, EntryTable>;
  /** Every backend of the configuration by id, for the upstream pools. */
  readonly backends: ReadonlyMap<string, CompiledBackend>;
  readonly counts: { readonly routes: number; readonly rules: number; readonly backends: number };
  /** Rules that could not be compiled and fail closed. */
  readonly problems: readonly TableProblem[];
}

export interface TableProblem {
  readonly routeId: string;
  readonly ruleIndex: number;
  /** Path of the offending field below the rule, e.g. `matches[0].path.value`. */
  readonly field: string;
  readonly message: string;
}
