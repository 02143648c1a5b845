// Trouble on demand: answers that fail, hang or come from something that is not the API, slow answers, and code that runs in between.
import type { Request, RequestHandler, Response } from 'express';
import { fault, sendFault } from './envelope.ts';

/** Which requests are meant; what is left out matches everything. */
export interface Match {
  readonly method?: string;
  /** Tested against the path below the base path, e.g. `/accounts/…/configurations`. */
  readonly path?: RegExp;
  /** Name of the API token. */
  readonly token?: string;
}

/**
 * A number is an HTTP status with an error envelope. `timeout` never answers; `html` is a 200 page such as a captive portal's;
 * `success-false-200` is an error under a success status; `reset` breaks the connection; `truncated` ends in the middle of the JSON.
 */
export type Trouble = number | 'timeout' | 'html' | 'success-false-200' | 'reset' | 'truncated';

export interface FaultRule {
  readonly match?: Match;
  readonly answer: Trouble;
  /** How many requests it hits. Default 1. */
  readonly times?: number;
  /** Code and text in the envelope. */
  readonly code?: number;
  readonly message?: string;
  /** Seconds, sent as Retry-After. */
  readonly retryAfter?: number;
}

type Step = (request: Request, response: Response) => 'answered' | 'continue' | Promise<'continue'>;

interface Entry {
  readonly match: Match;
  readonly step: Step;
  left: number;
}

export class Faults {
  readonly #entries: Entry[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();

  fail(rule: FaultRule): () => void {
    return this.#add(rule.match ?? {}, rule.times ?? 1, (request, response) => {
      this.#answer(request, response, rule);
      return 'answered';
    });
  }

  /** Runs `action` before the next matching request is handled: another writer that comes in between. */
  before(match: Match, action: () => void | Promise<void>, times = 1): () => void {
    return this.#add(match, times, async () => {
      await action();
      return 'continue' as const;
    });
  }

  /** Every matching request waits `milliseconds` first, until the returned function is called. */
  delay(match: Match, milliseconds: number): () => void {
    return this.#add(match, Number.POSITIVE_INFINITY, () => {
      const { promise, resolve } = Promise.withResolvers<'continue'>();
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        resolve('continue');
      }, milliseconds);
      this.#timers.add(timer);
      return promise;
    });
  }

  clear(): void {
    this.#entries.length = 0;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  handler(): RequestHandler {
    return async (request, response, next) => {
      for (const entry of this.#entries.filter(({ match }) => matches(match, request, response))) {
        // Another request may have used it up while an earlier step of this one waited.
        if (entry.left <= 0) continue;
        entry.left -= 1;
        if (entry.left <= 0) this.#remove(entry);
        if ((await entry.step(request, response)) === 'answered') return;
      }
      next();
    };
  }

  #add(match: Match, times: number, step: Step): () => void {
    const entry: Entry = { match, step, left: times };
    this.#entries.push(entry);
    return () => this.#remove(entry);
  }

  #remove(entry: Entry): void {
    const index = this.#entries.indexOf(entry);
    if (index >= 0) this.#entries.splice(index, 1);
  }

  #answer(request: Request, response: Response, rule: FaultRule): void {
    const { answer } = rule;
    response.locals['outcome'] = answer;
    const code = rule.code ?? (typeof answer === 'number' && answer >= 500 ? answer : 1001);
    const message = rule.message ?? 'Injected failure';
    if (rule.retryAfter !== undefined) response.set('retry-after', String(rule.retryAfter));
    if (typeof answer === 'number') sendFault(response, fault(answer, code, message));
    else if (answer === 'html') response.type('html').send('<!doctype html><title>Sign in to the network</title>');
    else if (answer === 'success-false-200') {
      response.json({ success: false, errors: [{ code, message }], messages: [], result: null });
    } else if (answer === 'reset') request.socket.resetAndDestroy();
    else if (answer === 'truncated') {
      response.set('content-type', 'application/json').write('{"success":true,"result":{"id":');
      request.socket.end();
    }
    // 'timeout' leaves the request open; the client or the end of the server closes it.
  }
}

function matches(match: Match, request: Request, response: Response): boolean {
  if (match.method !== undefined && match.method !== request.method) return false;
  if (match.path !== undefined && !match.path.test(request.path)) return false;
  return match.token === undefined || match.token === response.locals['tokenName'];
}
