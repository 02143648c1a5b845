// One rule, compiled: what happens to the requests that it wins. Also the controller's check of a rule, so that both judge alike.
import type { RuleConfig, WeightedBackendConfig } from '#proxy/config/schema.ts';
import { EditsCache, headerEdits } from '#proxy/filter/edits.ts';
import { mergeRewrites, planFilters, type FilterPlan } from '#proxy/filter/plan.ts';
import { filterProblems } from '#proxy/filter/validate.ts';
import { prepareConditions, type Conditions, type FieldProblem } from './conditions.ts';
import { StatePool } from './regex/automaton.ts';
import { PatternCache } from './regex/pattern.ts';
import type { BackendChoice, CompiledBackend, CompiledRule, HeaderEdits, TableProblem } from './types.ts';

export interface RuleSource {
  readonly routeId: string;
  readonly ruleIndex: number;
  readonly type: 'HTTP' | 'GRPC';
  readonly rule: RuleConfig;
}

/** What the rules of one table share. */
export interface RuleContext {
  readonly patterns: PatternCache;
  readonly edits: EditsCache;
  /** Null: references are not looked up. */
  readonly backends: ReadonlyMap<string, CompiledBackend> | null;
}

/** A rule with the matches that can match anything; those with a problem are not among them. */
export interface PreparedRule {
  readonly rule: CompiledRule;
  readonly matches: readonly Conditions[];
  readonly problems: readonly TableProblem[];
}

/** The longest that a timer runs, in milliseconds: 24 days, which no request takes. A timer that is told to wait longer fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Everything that would make this rule, or a share of its traffic, answer 500 in the proxy. Fields are below the rule. */
export function validateRule(type: 'HTTP' | 'GRPC', rule: RuleConfig, routeId = '', ruleIndex = 0): readonly TableProblem[] {
  const steps = ruleSteps(
    { routeId, ruleIndex, type, rule },
    { patterns: new PatternCache(new StatePool()), edits: new EditsCache(), backends: null },
  );
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value.problems;
  }
}

/**
 * Compiles a rule; yields between matches, each of which may hold dozens of expressions.
 * A rule with a problem in its matches or filters fails closed as a whole: the matches that are usable answer 500. A problem of one backend
 * closes that backend's share alone.
 */
export function* ruleSteps(
  { routeId, ruleIndex, type, rule }: RuleSource,
  { patterns, edits, backends }: RuleContext,
): Generator<void, PreparedRule> {
  const problems: FieldProblem[] = [];
  const matches: Conditions[] = [];
  for (const [matchIndex, match] of rule.matches.entries()) {
    const result = prepareConditions(type, match, patterns);
    if ('conditions' in result) matches.push(result.conditions);
    else problems.push(...below(`matches[${matchIndex}].`, result.problems));
    yield;
  }
  const prefixOnly = rule.matches.every(({ path }) => (path?.type ?? 'PathPrefix') === 'PathPrefix');
  problems.push(...below('filters', filterProblems(rule.filters ?? [], prefixOnly)));
  const isOpen = rule.error === undefined && problems.length === 0;
  const filters = planFilters(isOpen ? (rule.filters ?? []) : []);
  const responseEdits = headerEdits(filters.response, edits);
  const choices = isOpen ? compileChoices(rule.backends, { filters, responseEdits, prefixOnly, backends, edits, problems }) : [];
  const compiled: CompiledRule = Object.freeze({
    routeId,
    ruleIndex,
    type,
    error: isOpen ? 0 : 500,
    redirect: filters.redirect,
    responseEdits,
    choices: Object.freeze(choices),
    totalWeight: choices.at(-1)?.upTo ?? 0,
    requestTimeout: Math.min(rule.timeouts?.request ?? 0, LONGEST_TIMER),
    backendRequestTimeout: Math.min(rule.timeouts?.backendRequest ?? 0, LONGEST_TIMER),
  });
  // A rule that the controller has closed is known to be bad: its conditions say so, with better words.
  const news = rule.error === undefined ? problems : [];
  return { rule: compiled, matches, problems: news.map(({ field, message }) => ({ routeId, ruleIndex, field, message })) };
}

interface ChoiceContext extends Pick<RuleContext, 'edits' | 'backends'> {
  readonly filters: FilterPlan;
  readonly responseEdits: HeaderEdits | null;
  readonly prefixOnly: boolean;
  /** Problems found are added here. */
  readonly problems: FieldProblem[];
}

/** Backends of weight 0 are never chosen and left out. */
function compileChoices(list: readonly WeightedBackendConfig[], context: ChoiceContext): readonly BackendChoice[] {
  const choices: BackendChoice[] = [];
  let upTo = 0;
  const rule = context.filters;
  const { edits, responseEdits } = context;
  const requestEdits = headerEdits(rule.request, edits);
  for (const [index, config] of list.entries()) {
    const found = filterProblems(config.filters ?? [], context.prefixOnly);
    context.problems.push(...below(`backends[${index}].filters`, found));
    const backend = findBackend(config, index, context);
    if (config.weight === 0) continue;
    upTo += config.weight;
    const isOpen = found.length === 0 && backend !== null;
    const own = planFilters(isOpen ? (config.filters ?? []) : []);
    choices.push(
      Object.freeze({
        backend: isOpen ? backend : null,
        status: isOpen ? 0 : (config.status ?? 500),
        upTo,
        requestEdits: own.request.length === 0 ? requestEdits : headerEdits([...rule.request, ...own.request], edits),
        responseEdits: own.response.length === 0 ? responseEdits : headerEdits([...rule.response, ...own.response], edits),
        rewrite: mergeRewrites(rule.rewrite, own.rewrite),
        redirect: own.redirect,
      }),
    );
  }
  return choices;
}

/** Null when this share is answered with a status. */
function findBackend(
  { backend: id, status }: WeightedBackendConfig,
  index: number,
  { backends, problems }: ChoiceContext,
): CompiledBackend | null {
  if (id === undefined || status !== undefined) return null;
  if (backends === null) return unresolved;
  const backend = backends.get(id);
  if (backend === undefined)
    problems.push({ field: `backends[${index}].backend`, message: `there is no backend ${JSON.stringify(id)} in the configuration` });
  return backend ?? null;
}

/** Stands for a backend where only the rule itself is checked. */
const unresolved: CompiledBackend = { id: '', name: '', protocol: 'http1', endpoints: [], fallback: null };

function below(prefix: string, problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return problems.map(({ field, message }) => ({ field: `${prefix}${field}`, message }));
}
