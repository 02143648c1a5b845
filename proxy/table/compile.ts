// The pushed configuration → the route table of the data path.
import type { BackendConfig, ProxyConfig, RouteConfig } from '#proxy/config/schema.ts';
import { EditsCache } from '#proxy/filter/edits.ts';
import { createArm, type RankedArm } from './arm.ts';
import { bucketSteps } from './bucket.ts';
import type { Conditions } from './conditions.ts';
import { hostPattern } from './host.ts';
import { entrySteps, type EntryPlan, type ListenerTable } from './listener.ts';
import { localEntryPlan } from './local-entry.ts';
import { StatePool } from './regex/automaton.ts';
import { PatternCache } from './regex/pattern.ts';
import { ruleSteps } from './rule.ts';
import { sortSteps } from './sort.ts';
import type { CompiledBackend, CompiledRule, EntryTable, RouteTable, TableProblem } from './types.ts';

export { validateRule } from './rule.ts';

/** The whole table in one go: for small configurations and tests. */
export function compileTable(config: ProxyConfig): RouteTable {
  const steps = compileSteps(config);
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
  }
}

/**
 * The same, stopping every few milliseconds of work so that the caller can let requests pass. Never throws: a rule that cannot be compiled
 * answers 500 for the matches that are readable, and is listed in `problems`.
 */
export function* compileSteps(config: ProxyConfig): Generator<void, RouteTable> {
  const backends = new Map<string, CompiledBackend>();
  for (const backend of config.backends) {
    backends.set(backend.id, compileBackend(backend));
    if (backends.size % BACKENDS_PER_STEP === 0) yield;
  }
  const routes = yield* routeSteps(config.routes, backends);
  const byEntry = yield* entryOfRoutesSteps(routes);
  const entries = new Map<number, EntryTable>();
  for (const entry of config.entries) entries.set(entry.port, yield* attachSteps(yield* entrySteps(entry), byEntry));
  const certificates = new Map(config.certificates.map(({ id, cert, key }) => [id, { cert, key }]));
  for (const entry of config.localEntries) entries.set(entry.port, yield* attachSteps(localEntryPlan(entry, certificates), byEntry));
  return Object.freeze({
    entries,
    backends,
    counts: Object.freeze({
      routes: config.routes.length,
      rules: config.routes.reduce((sum, { rules }) => sum + rules.length, 0),
      backends: config.backends.length,
    }),
    problems: Object.freeze(routes.flatMap(({ problems }) => problems)),
  });
}

/** What one step of preparing matches may cost: a match counts for 1, a new expression, at tens of microseconds, for more. */
const COST_PER_STEP = 500;
const PATTERN_COST = 25;
/** Routes looked at and arms placed in one step. */
const ARMS_PER_STEP = 2000;
const BACKENDS_PER_STEP = 1000;
const BUCKETS_PER_STEP = 500;

/** A match of a route, compiled once for all hostnames that the route has. */
interface PreparedMatch {
  readonly rule: CompiledRule;
  readonly conditions: Conditions;
  readonly seniority: number;
}

interface PreparedRoute {
  readonly config: RouteConfig;
  readonly matches: readonly PreparedMatch[];
  readonly problems: readonly TableProblem[];
}

/** Routes from the oldest to the youngest: matches get their seniority in this order. */
function* routeSteps(
  routes: readonly RouteConfig[],
  backends: ReadonlyMap<string, CompiledBackend>,
): Generator<void, readonly PreparedRoute[]> {
  const patterns = new PatternCache(new StatePool());
  const edits = new EditsCache();
  const prepared: PreparedRoute[] = [];
  let seniority = 0;
  let matchCount = 0;
  let paused = 0;
  for (const { config } of yield* sortSteps(routes.map(agedRoute), byAge)) {
    const matches: PreparedMatch[] = [];
    const problems: TableProblem[] = [];
    for (const [ruleIndex, rule] of config.rules.entries()) {
      const steps = ruleSteps({ routeId: config.id, ruleIndex, type: config.type, rule }, { patterns, edits, backends });
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) {
        const cost = ++matchCount + PATTERN_COST * patterns.size;
        if (cost - paused < COST_PER_STEP) continue;
        paused = cost;
        yield;
      }
      const compiled = step.value;
      for (const conditions of compiled.matches) matches.push({ rule: compiled.rule, conditions, seniority: seniority++ });
      problems.push(...compiled.problems);
    }
    prepared.push({ config, matches, problems });
  }
  return prepared;
}

interface AgedRoute {
  readonly config: RouteConfig;
  readonly created: number;
  readonly name: string;
}

/** A time that cannot be read counts as the youngest: it must not win over routes whose age is known. */
function agedRoute(config: RouteConfig): AgedRoute {
  const created = Date.parse(config.created);
  return { config, created: Number.isNaN(created) ? Number.MAX_VALUE : created, name: `${config.namespace}/${config.name}` };
}

/** The Gateway API's tie-breaks between routes; the kind after them, for an HTTPRoute and a GRPCRoute of one name and second. */
function byAge(a: AgedRoute, b: AgedRoute): number {
  return a.created - b.created || compareText(a.name, b.name) || compareText(a.config.id, b.config.id);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Routes by the entries that they are attached to, in the same order: entries may be many. */
function* entryOfRoutesSteps(routes: readonly PreparedRoute[]): Generator<void, ReadonlyMap<string, readonly PreparedRoute[]>> {
  const result = new Map<string, PreparedRoute[]>();
  let looked = 0;
  for (const route of routes) {
    for (const entry of new Set(route.config.attachments.map((attachment) => attachment.entry))) {
      const attached = result.get(entry) ?? [];
      result.set(entry, attached);
      attached.push(route);
    }
    if (++looked % ARMS_PER_STEP === 0) yield;
  }
  return result;
}

/** Places every match of every attached route under its hostnames and arranges the result. */
function* attachSteps({ tables, table }: EntryPlan, byEntry: ReadonlyMap<string, readonly PreparedRoute[]>): Generator<void, EntryTable> {
  const drafts = new Map(tables.map((one) => [one, new Map<string, RankedArm[]>()]));
  const byListener = tablesByListener(tables);
  let placed = 0;
  for (const { config, matches } of byEntry.get(table.id) ?? []) {
    for (const [listenerTable, hostname] of placesOf(config, table.id, byListener)) {
      const arms = drafts.get(listenerTable)?.get(hostname) ?? [];
      drafts.get(listenerTable)?.set(hostname, arms);
      for (const { rule, conditions, seniority } of matches) arms.push(createArm(rule, conditions, hostname, seniority));
      placed += matches.length;
    }
    if (++placed > ARMS_PER_STEP) {
      placed = 0;
      yield;
    }
  }
  let buckets = 0;
  for (const [{ hosts }, byHostname] of drafts) {
    for (const [hostname, arms] of byHostname) {
      hosts.set(hostname, yield* bucketSteps(arms));
      if (++buckets % BUCKETS_PER_STEP === 0) yield;
    }
  }
  return table;
}

function tablesByListener(
  tables: readonly ListenerTable[],
): ReadonlyMap<string, readonly { readonly table: ListenerTable; readonly hostname: string }[]> {
  const result = new Map<string, { readonly table: ListenerTable; readonly hostname: string }[]>();
  for (const table of tables) {
    for (const { id, hostname } of table.listeners) {
      const places = result.get(id) ?? [];
      places.push({ table, hostname: hostPattern(hostname) });
      result.set(id, places);
    }
  }
  return result;
}

/** Tables and hostname patterns under which a route answers, each once. Without hostnames of its own it has those of its listener. */
function placesOf(
  route: RouteConfig,
  entryId: string,
  byListener: ReturnType<typeof tablesByListener>,
): readonly (readonly [ListenerTable, string])[] {
  const places = new Map<ListenerTable, Set<string>>();
  for (const { entry, listener, hostnames } of route.attachments) {
    if (entry !== entryId) continue;
    for (const { table, hostname } of byListener.get(listener) ?? []) {
      const patterns = places.get(table) ?? new Set();
      for (const pattern of hostnames.length > 0 ? hostnames.map(hostPattern) : [hostname]) patterns.add(pattern);
      places.set(table, patterns);
    }
  }
  return [...places].flatMap(([table, patterns]) => [...patterns].map((pattern) => [table, pattern] as const));
}

function compileBackend({ id, name, protocol, endpoints, fallback }: BackendConfig): CompiledBackend {
  return Object.freeze({ id, name, protocol, endpoints: Object.freeze([...endpoints]), fallback: fallback ?? null });
}
