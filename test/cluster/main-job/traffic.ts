// Constant traffic through the edge: every answer is held against what was right at some moment of its request; whatever else is a finding.
import { createHash, randomBytes } from 'node:crypto';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import type { Echo } from './backend.ts';

export interface Entrance {
  readonly ip: string;
  readonly port: number;
  readonly ca: Buffer;
}

export interface ProbeOptions {
  readonly host: string;
  /** The number of the request is added. */
  readonly path?: string;
  /** Bytes to send, in a POST. */
  readonly upload?: number;
  /** Requests at a time; 2 by default. */
  readonly parallel?: number;
}

export interface Failure {
  readonly probe: string;
  readonly during: string;
  readonly got: string;
  readonly allowed: readonly string[];
  /** Monotonic ms at which the request began and ended. */
  readonly began: number;
  readonly ended: number;
}

/** Between two requests of one loop, ms: the rate is bounded, so that the machine has time for what is tested. */
const SPACING_MS = 20;
const ANSWER_MS = 20_000;
const WAIT_MS = 20_000;

interface Period {
  readonly from: number;
  readonly allowed: readonly string[];
}

/** Answers are `200 <backend>`, another status such as `404`, or what went wrong in words. */
export class Traffic {
  readonly failures: Failure[] = [];
  /** What the test is doing, for the failures. */
  during = '';
  answered = 0;
  readonly #agent: https.Agent;
  readonly #entrance: Entrance;
  readonly #probes = new Map<string, Probe>();
  readonly #loops: Promise<void>[] = [];
  #isEnding = false;

  constructor(entrance: Entrance) {
    this.#entrance = entrance;
    this.#agent = new https.Agent({ keepAlive: true, ca: entrance.ca });
  }

  /** Starts to send, without end. */
  start(name: string, options: ProbeOptions, ...allowed: readonly string[]): void {
    const probe = new Probe(name, options, allowed);
    this.#probes.set(name, probe);
    for (let index = 0; index < (options.parallel ?? 2); index += 1) this.#loops.push(this.#loop(probe));
  }

  /** From now on these are the right answers. Requests under way may still get what was right when they began. */
  expect(name: string, ...allowed: readonly string[]): void {
    this.#probe(name).allow(allowed);
  }

  /** Resolves when a request that begins after this call has been answered so. */
  async sees(name: string, answer: string): Promise<void> {
    await this.#probe(name).sees(answer);
  }

  /** Resolves when so many requests of each probe that began after this call have been answered. */
  async goesOn(count = 5): Promise<void> {
    await Promise.all([...this.#probes.values()].map((probe) => probe.goesOn(count)));
  }

  /** The failures so far; forgets them. */
  take(): readonly Failure[] {
    return this.failures.splice(0);
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#loops);
    this.#agent.destroy();
  }

  #probe(name: string): Probe {
    const probe = this.#probes.get(name);
    if (probe === undefined) throw new Error(`no traffic ${name}`);
    return probe;
  }

  async #loop(probe: Probe): Promise<void> {
    while (!this.#isEnding) {
      const began = performance.now();
      const got = await this.#send(probe.next());
      const ended = performance.now();
      this.answered += 1;
      const allowed = probe.allowedBetween(began, ended);
      if (!allowed.includes(got)) this.failures.push({ probe: probe.name, during: this.during, got, allowed, began, ended });
      probe.answered(got, began);
      await pause(SPACING_MS);
    }
  }

  async #send(request: ProbeRequest): Promise<string> {
    try {
      const { status, body } = await exchange(this.#entrance, this.#agent, request);
      return status === 200 ? `200 ${backendOf(body, request)}` : String(status);
    } catch (error) {
      return `failed: ${(error as Error).message}`;
    }
  }
}

interface ProbeRequest {
  readonly host: string;
  readonly path: string;
  readonly body: Buffer | null;
}

class Probe {
  readonly name: string;
  readonly #options: ProbeOptions;
  #periods: Period[];
  #number = 0;
  readonly #watchers = new Set<(answer: string, began: number) => void>();

  constructor(name: string, options: ProbeOptions, allowed: readonly string[]) {
    this.name = name;
    this.#options = options;
    this.#periods = [{ from: 0, allowed }];
  }

  allow(allowed: readonly string[]): void {
    this.#periods.push({ from: performance.now(), allowed });
  }

  allowedBetween(began: number, ended: number): readonly string[] {
    const periods = this.#periods.filter(({ from }, index) => from <= ended && (this.#periods[index + 1]?.from ?? Infinity) >= began);
    return [...new Set(periods.flatMap(({ allowed }) => allowed))];
  }

  next(): ProbeRequest {
    this.#number += 1;
    const { host, path = '/', upload } = this.#options;
    return {
      host,
      path: `${path}${path.endsWith('/') ? '' : '/'}${this.#number}`,
      body: upload === undefined ? null : randomBytes(upload),
    };
  }

  answered(answer: string, began: number): void {
    for (const watcher of this.#watchers) watcher(answer, began);
  }

  sees(answer: string): Promise<void> {
    return this.#watch(`an answer '${answer}'`, (got) => got === answer);
  }

  goesOn(count: number): Promise<void> {
    let left = count;
    return this.#watch(`${count} answers`, () => (left -= 1) === 0);
  }

  #watch(what: string, isIt: (answer: string) => boolean): Promise<void> {
    const since = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`traffic ${this.name}: ${what} did not come`)), WAIT_MS);
    const watcher = (answer: string, began: number): void => {
      if (began >= since && isIt(answer)) resolve();
    };
    this.#watchers.add(watcher);
    return promise.finally(() => {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
    });
  }
}

/** The backend's name, if the answer is the one to this very request. */
function backendOf(body: string, request: ProbeRequest): string {
  const echo = JSON.parse(body) as Echo;
  const digest = createHash('sha256')
    .update(request.body ?? '')
    .digest('hex');
  const isOurs = echo.path === request.path && echo.host.split(':')[0] === request.host && echo.body === digest;
  return isOurs ? echo.backend : `of another request: ${body}`;
}

/** One request on its own. */
function exchange(
  { ip, port, ca }: Entrance,
  agent: https.Agent | false,
  { host, path, body }: ProbeRequest,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const request = https.request({
      host: ip,
      port,
      path,
      agent,
      ca,
      signal,
      servername: host,
      method: body === null ? 'GET' : 'POST',
      headers: { host: `${host}:${port}`, ...(body === null ? {} : { 'content-length': body.length }) },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    request.end(body ?? undefined);
  });
}
