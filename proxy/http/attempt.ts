// An exchange up to the point where a backend answers: routing, choice of endpoint, and what is tried when one fails.
import { pickEndpoint } from '#proxy/upstream/balance.ts';
import type { Endpoint } from '#proxy/upstream/endpoint.ts';
import type { Failure, Job, ResponseHead, UpgradedSocket, UpstreamStream } from '#proxy/upstream/job.ts';
import type { BackendTarget } from '#proxy/upstream/upstreams.ts';
import type { Arm, HeaderEdits } from '#proxy/table/types.ts';
import { accessEntry } from './access-entry.ts';
import type { Connection, OpenExchange } from './connection.ts';
import { isRepeatable } from './framing.ts';
import type { Plane } from './plane.ts';
import * as reply from './reply.ts';
import { decide, isMisdirected, matchRequest, readRequest, type IncomingHead } from './routing.ts';

/** Requests that a backend has refused to look at may be sent again; not for ever. */
const MAX_REFUSALS = 3;

export abstract class Attempt implements Job, OpenExchange {
  nextOnConnection: OpenExchange | null = null;
  readonly method: string;
  readonly upgrade: boolean;
  bodyLength = 0;
  repeatable = false;
  head = '';
  headList: readonly string[] = [];

  protected readonly plane: Plane;
  protected readonly connection: Connection;
  protected readonly incoming: IncomingHead;
  protected readonly started = performance.now();
  protected arm: Arm | null = null;
  protected responseEdits: HeaderEdits | null = null;
  protected stream: UpstreamStream | null = null;
  /** The answer has been given, or nobody is left to take it. */
  protected done = false;
  /** Part of the request's body has been handed to a connection: it cannot be sent again. */
  protected bodyStarted = false;
  private left = false;
  /** Tick of the last byte in either direction. */
  protected progress: number;
  /** Status sent to the client; 0 before. */
  protected status = 0;
  protected requestBytes = 0;
  protected responseBytes = 0;

  private target: BackendTarget | null = null;
  private endpoint: Endpoint | null = null;
  private lastEndpoint = '';
  private protocol: 'http1' | 'h2c' = 'http1';
  private tried: Set<Endpoint> | null = null;
  private retriedStale = false;
  private refusals = 0;
  private lastFailure: reply.Answer = reply.BAD_GATEWAY;
  private requestTimer: NodeJS.Timeout | null = null;
  private tryTimer: NodeJS.Timeout | null = null;

  constructor(plane: Plane, connection: Connection, incoming: IncomingHead, upgrade: boolean) {
    this.plane = plane;
    this.connection = connection;
    this.incoming = incoming;
    this.method = incoming.method ?? '';
    this.upgrade = upgrade;
    this.progress = plane.tick;
    connection.add(this);
    plane.exchangeOpened();
  }

  /** Gives one of our own answers; the exchange is over. */
  protected abstract answer(answer: reply.Answer, edits: HeaderEdits | null): void;
  protected abstract redirect(status: number, location: string, edits: HeaderEdits | null): void;
  /** The head has gone out but the rest will not come: the client must see that. */
  protected abstract breakOff(): void;
  /** For exchanges that a route does not allow for this kind: an answer, or null. */
  protected abstract refuse(bodyLength: number): reply.Answer | null;
  abstract checkStall(tick: number): void;
  abstract clientBroke(): 'unanswered' | 'underway' | 'answered';
  abstract onOpen(): void;
  abstract onInformation(status: number, fields: readonly string[]): void;
  abstract onHead(head: ResponseHead): void;
  abstract onBody(chunk: Buffer, last: boolean): void;
  abstract onFlush(): void;
  abstract onEnd(trailers: readonly string[]): void;
  abstract onUpgrade(head: ResponseHead, socket: UpgradedSocket, rest: Buffer): void;
  abstract onDrain(): void;

  start(): void {
    const { plane, connection, incoming } = this;
    const { head, key } = plane;
    const { entry } = connection.front;
    const request = readRequest(incoming, connection, head, key);
    if ('status' in request) {
      // Whether there is a body, and where it ends, is not to be relied on.
      this.bodyLength = -1;
      this.answer(request, null);
      return;
    }
    this.bodyLength = request.bodyLength;
    const refusal = entry === null ? reply.NO_CONFIGURATION : this.refuse(request.bodyLength);
    if (entry === null || refusal !== null) {
      this.answer(refusal ?? reply.NO_CONFIGURATION, null);
      return;
    }
    if (entry.local !== null && isMisdirected(entry.local, connection.serverName, key.host)) {
      this.answer(reply.MISDIRECTED, null);
      return;
    }
    const arm = matchRequest(entry, key, request.path);
    if (arm === null || 'status' in arm) {
      this.answer(arm ?? reply.NO_ROUTE, null);
      return;
    }
    this.arm = arm;
    const outcome = decide(arm, key, request.visitor.host, plane.random());
    if (outcome.kind === 'answer') this.answer(outcome.answer, outcome.edits);
    else if (outcome.kind === 'redirect') this.redirect(outcome.status, outcome.location, outcome.edits);
    else {
      const { choice, target, host } = outcome;
      const backend = choice.backend!;
      const to = { method: this.method, target, host, bodyLength: request.bodyLength, edits: choice.requestEdits };
      this.repeatable = isRepeatable(this.method, request.bodyLength);
      this.responseEdits = choice.responseEdits;
      this.target = plane.upstreams.target(backend);
      // An upgrade leaves HTTP/1.1 only: HTTP/2 with prior knowledge has no such thing, most backends speak both.
      this.protocol = this.upgrade ? 'http1' : backend.protocol;
      if (this.upgrade) this.head = head.upgradeText(to, request.visitor);
      else if (this.protocol === 'http1') this.head = head.text(to, request.visitor);
      else this.headList = head.list(to, request.visitor);
      const { requestTimeout } = arm.rule;
      if (requestTimeout > 0) this.requestTimer = setTimeout(timedOut, requestTimeout, this);
      this.tryNext();
    }
  }

  /** The next endpoint that has not refused, then the fallback. */
  private tryNext(): void {
    const { target, plane } = this;
    if (target === null) return;
    if (target.endpoints.length === 0) {
      this.answer(reply.NO_ENDPOINT, this.responseEdits);
      return;
    }
    const now = performance.now();
    const { tried } = this;
    const late = tried !== null && now - this.started > plane.options.connectBudget;
    const { fallback } = target;
    let endpoint = late ? null : pickEndpoint(target.endpoints, tried, now, plane.random);
    if (endpoint === null && fallback !== null && !tried?.has(fallback)) endpoint = fallback;
    if (endpoint === null) this.answer(this.lastFailure, this.responseEdits);
    else this.dispatch(endpoint, false);
  }

  private dispatch(endpoint: Endpoint, fresh: boolean): void {
    this.endpoint = endpoint;
    endpoint.active += 1;
    const { backendRequestTimeout } = this.arm!.rule;
    if (backendRequestTimeout > 0) this.tryTimer = setTimeout(timedOut, backendRequestTimeout, this);
    endpoint.dispatch(this, this.protocol, fresh);
  }

  onAssigned(stream: UpstreamStream): void {
    this.stream = stream;
  }

  onFailure(failure: Failure): void {
    const { endpoint } = this;
    this.stream = null;
    this.leaveEndpoint();
    if (this.done || endpoint === null) return;
    this.report(failure, endpoint);
    if (this.status !== 0) {
      this.breakOff();
      return;
    }
    const { kind } = failure;
    if (kind === 'connect' || kind === 'connect-timeout') {
      // Nothing was sent: another endpoint may have any request.
      this.lastFailure = kind === 'connect' ? reply.BAD_GATEWAY : reply.GATEWAY_TIMEOUT;
      (this.tried ??= new Set()).add(endpoint);
      this.tryNext();
    } else if (failure.stale && this.repeatable && !this.retriedStale) {
      this.retriedStale = true;
      this.dispatch(endpoint, true);
    } else if (kind === 'refused' && !this.bodyStarted && this.refusals < MAX_REFUSALS) {
      this.refusals += 1;
      this.tryNext();
    } else {
      this.answer(kind === 'overload' ? reply.OVERLOADED : reply.BAD_GATEWAY, this.responseEdits);
    }
  }

  private report(failure: Failure, endpoint: Endpoint): void {
    const { metrics, log } = this.plane;
    if (endpoint.failed(failure.kind, performance.now())) {
      log.warn(
        { endpoint: endpoint.address, backend: this.target?.backend.name, error: failure.message },
        'endpoint left out after failed connections',
      );
    }
    if (metrics === null) return;
    const dial = failure.kind === 'connect' || failure.kind === 'connect-timeout';
    const reason = dial ? (this.upgrade ? 'ws_dial' : 'dial') : this.upgrade ? 'ws_handshake' : 'other';
    metrics.backendError(this.arm?.hostname ?? '', reason);
  }

  /** No more from the backend; `abort` ends what is still open there. */
  protected leaveBackend(abort: boolean): void {
    const { stream, endpoint } = this;
    this.stream = null;
    if (abort && endpoint !== null) {
      if (stream === null) endpoint.cancel(this);
      else stream.destroy();
    }
    this.leaveEndpoint();
  }

  private leaveEndpoint(): void {
    this.stopTryTimer();
    const { endpoint } = this;
    if (endpoint === null) return;
    endpoint.active -= 1;
    this.lastEndpoint = endpoint.address;
    this.endpoint = null;
  }

  /** The head of the answer is here: this try is in time. */
  protected stopTryTimer(): void {
    if (this.tryTimer === null) return;
    clearTimeout(this.tryTimer);
    this.tryTimer = null;
  }

  private stopRequestTimer(): void {
    if (this.requestTimer === null) return;
    clearTimeout(this.requestTimer);
    this.requestTimer = null;
  }

  /** A limit has passed, the route's or our own for exchanges in which nothing moves. */
  onTimeout(): void {
    if (this.done) return;
    this.leaveBackend(true);
    this.plane.metrics?.backendError(this.arm?.hostname ?? '', 'timeout');
    if (this.status === 0) this.answer(reply.GATEWAY_TIMEOUT, this.responseEdits);
    else this.breakOff();
  }

  clientGone(): void {
    if (!this.done) {
      if (this.endpoint !== null) this.plane.metrics?.backendError(this.arm?.hostname ?? '', 'canceled');
      this.leaveBackend(true);
      this.finish(true);
    }
    this.leaveConnection();
  }

  /** The answer is complete, or will never be. Counted once. */
  protected finish(aborted: boolean): void {
    if (this.done) return;
    this.done = true;
    this.stopRequestTimer();
    const { metrics, accessLog } = this.plane;
    if (metrics === null && accessLog === null) return;
    const milliseconds = performance.now() - this.started;
    const { status, requestBytes, responseBytes } = this;
    metrics?.finished(this.arm?.hostname ?? '', { status, aborted, milliseconds, requestBytes, responseBytes });
    if (accessLog !== null) this.log(milliseconds);
  }

  protected leaveConnection(): void {
    if (this.left) return;
    this.left = true;
    this.connection.remove(this);
    this.plane.exchangeClosed();
  }

  private log(durationMs: number): void {
    const { method, incoming, connection, status, responseBytes, lastEndpoint } = this;
    const route = this.arm?.rule.routeId ?? '';
    this.plane.accessLog?.write(
      accessEntry(incoming, connection, { method, status, bytesWritten: responseBytes, durationMs, route, endpoint: lastEndpoint }),
    );
  }
}

function timedOut(attempt: Attempt): void {
  attempt.onTimeout();
}
