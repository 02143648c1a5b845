// What the quick start tells of the log lines of controller and proxy: what a person wants to know, once, in plain words.
import type { IngressRule } from './local-cloudflare.ts';
import type { LogLine } from './processes.ts';
import { detail, news, say, step, table, trouble } from './terminal.ts';

interface Status {
  readonly text: string;
  readonly isWell: boolean;
}

/** More objects than this are counted, not listed. */
const MOST_LISTED = 20;
const MOST_IN_LINE = 6;
/** Lines that belong together come within this time. */
const TOGETHER_MS = 50;

export class Story {
  /** By object: `HTTPRoute tenant-example/app`. */
  readonly #statuses = new Map<string, Status>();
  /** By place: `20-app.yaml:12:3`. */
  readonly #problems = new Map<string, string>();
  /** What was told last of things that may go wrong again and again. */
  readonly #told = new Map<string, string>();
  #rules = '';
  #connector = '';
  #connectorProblem = '';
  /** Routes and rules of the configuration that the proxy has applied last; empty before the first. */
  applied = '';
  isSynced = false;
  /** While everything starts, the steps are told in their order by someone else; errors at once. */
  #isLive = false;
  #isOver = false;
  /** Once after all mistakes of one edit. */
  readonly #reassure = setTimeout(() => {
    if (this.#isLive) detail('The last good state keeps serving.');
  }, TOGETHER_MS);

  hear(line: LogLine): void {
    if (this.#isOver) return;
    if (line['component'] === 'status') return this.#status(line);
    switch (line.msg) {
      case 'source synced':
        this.isSynced = true;
        return;
      case 'objects changed':
        return this.#objects(line);
      case 'problem':
        return this.#problem(String(line['where']), String(line['text']));
      case 'problem solved':
        return this.#solved(String(line['where']));
      case 'tunnel':
        // The status of the GatewayClassConfig says it too.
        return;
      case 'kinds that this controller does not read are ignored':
        return news(`${String(line['file'])}: not read, as they are none of the kinds of this controller: ${String(line['kinds'])}`);
      case 'configuration applied':
        return this.#configuration(line);
      case 'connector state':
        return this.#connectorState(line);
      case 'configuration refused':
        return this.#once('configuration', `the proxy refuses the configuration: ${String(line['reason'])}`);
      default:
        // Of a connector in trouble its state was told.
        if (['error', 'fatal'].includes(line.level) && line.msg !== this.#connectorProblem) this.#once(line.msg, withDetails(line));
    }
  }

  /** Every object that has a status has a good one, and there is a route. */
  get isWell(): boolean {
    const isRouted = [...this.#statuses.keys()].some((object) => /^(HTTP|GRPC)Route /.test(object));
    return isRouted && this.#problems.size === 0 && [...this.#statuses.values()].every(({ isWell }) => isWell);
  }

  get hasProblems(): boolean {
    return this.#problems.size > 0;
  }

  /** What is wrong now: an object or a place in a file, and how. */
  troubles(): readonly (readonly [string, string])[] {
    const unwell = [...this.#statuses].filter(([, { isWell }]) => !isWell).map(([object, { text }]) => [object, text] as const);
    return [...this.#problems, ...unwell];
  }

  /** The statuses as they are, those that need attention first. From now on every change is told as it comes. */
  goLive(): void {
    this.#isLive = true;
    const sorted = [...this.#statuses].sort(([, a], [, b]) => Number(a.isWell) - Number(b.isWell));
    for (const [object, status] of sorted.slice(0, MOST_LISTED)) tellStatus(object, status);
    if (sorted.length > MOST_LISTED) detail(`and ${sorted.length - MOST_LISTED} more`);
  }

  /** Nothing more is told: what follows is the noise of the end. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#reassure);
  }

  /** The table of ingress rules, when it is another one than that told last. */
  ingress(rules: readonly IngressRule[], title: string): void {
    const text = JSON.stringify(rules);
    if (this.#isOver || this.#rules === text) return;
    this.#rules = text;
    step(title);
    table(
      ['hostname', 'goes to'],
      rules.map(({ hostname, service }) => [hostname ?? '(any other)', service]),
    );
  }

  #status({ level, msg }: LogLine): void {
    const [, object, text] = /^(\w+ [^ :]+): (.*)$/.exec(msg) ?? [];
    if (object === undefined || text === undefined) return this.#once('status', msg);
    if (text === 'is gone') return void this.#statuses.delete(object);
    const status = { text, isWell: level === 'info' };
    this.#statuses.set(object, status);
    if (!this.#isLive) return;
    if (status.isWell) step(`${object}: ${text}`);
    else tellStatus(object, status);
  }

  #objects(line: LogLine): void {
    say();
    for (const what of ['added', 'changed', 'removed']) {
      const objects = (line[what] ?? []) as readonly string[];
      if (objects.length === 0) continue;
      const unlisted = (line['unlisted'] as Readonly<Record<string, number>> | undefined)?.[what] ?? 0;
      const left = Math.max(0, objects.length - MOST_IN_LINE) + unlisted;
      const more = left > 0 ? ` and ${left} more` : '';
      news(`${what}: ${objects.slice(0, MOST_IN_LINE).join(', ')}${more}`);
    }
  }

  #problem(where: string, text: string): void {
    if (this.#isLive && this.#problems.size === 0) say();
    this.#problems.set(where, text);
    trouble(`${where}: ${text}`);
    if (this.#isLive) this.#reassure.refresh();
  }

  /** A mistake that only moved within its file was told at its new place. */
  #solved(where: string): void {
    this.#problems.delete(where);
    const file = fileOf(where);
    if (![...this.#problems.keys()].some((other) => fileOf(other) === file)) step(`the problem with ${file} is solved`);
  }

  #configuration({ routes, rules }: LogLine): void {
    this.applied = `${counted(routes, 'route')}, ${counted(rules, 'rule')}`;
    this.#told.delete('configuration');
    if (this.#isLive) step(`the proxy serves by it: ${this.applied}`);
  }

  #connectorState({ phase, problem }: LogLine): void {
    this.#connectorProblem = typeof problem === 'string' ? problem : '';
    if (phase === this.#connector) return;
    if (phase === 'reconnecting' || phase === 'failed')
      this.#once('connector', `the connector is ${phase}${this.#connectorProblem === '' ? '' : `: ${this.#connectorProblem}`}`);
    else if (phase === 'connected' && this.#told.delete('connector')) step('the connector is connected again');
    this.#connector = String(phase);
  }

  /** Retries say the same again and again. */
  #once(about: string, text: string): void {
    if (this.#told.get(about) === text) return;
    this.#told.set(about, text);
    trouble(text);
  }
}

/** What is well in a line, what is not each in its own. */
function tellStatus(object: string, { text, isWell }: Status): void {
  if (isWell) return detail(`${object}: ${text}`);
  trouble(object);
  const [conditions = '', ...others] = outside(text, ';');
  for (const part of [...outside(conditions, ','), ...others]) if (part.includes('(')) detail(`    ${part}`);
}

/** The parts between separators that stand in no parentheses. */
function outside(text: string, separator: string): readonly string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === separator && depth === 0) parts.push('');
    else parts.push(`${parts.pop() ?? ''}${character}`);
  }
  return parts.map((part) => part.trim());
}

const counted = (count: unknown, what: string): string => `${String(count)} ${what}${count === 1 ? '' : 's'}`;

const fileOf = (where: string): string => where.replace(/:\d+(:\d+)?$/, '');

function withDetails(line: LogLine): string {
  const why = ['error', 'reason', 'text', 'problem'].map((field) => line[field]).find((value) => typeof value === 'string');
  return why === undefined ? line.msg : `${line.msg}: ${why}`;
}
