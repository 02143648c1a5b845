// Keeps every proxy of every plane at its plan: one link per proxy, so that a dead pod never holds back or marks the others.
import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { pskClientOptions } from '#proxy/config/psk.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import type { PlaneFact, PlanePlan } from '../api/plan.ts';
import { ProxyLink } from './proxy-link.ts';
import type { Push } from './proxy-link.ts';

export interface PlanePusherOptions {
  /** Shared bearer token and TLS key of the plane; null only where the proxies run with an open config API. */
  readonly token: string | null;
  /** The fact has changed. */
  readonly onFact: () => void;
  readonly onHigherEpoch: (epoch: number) => void;
  /** How often a proxy that is up to date is asked what it has: finds restarts that no event tells of. */
  readonly pollMs?: number;
  readonly now?: () => number;
  readonly random?: () => number;
}

/** How long no proxy may answer before the plane counts as unreachable. */
const UNREACHABLE_MS = 30_000;
/** Lines are sent in chunks of about this many bytes. */
const CHUNK_BYTES = 64 * 1024;

/** One plane: a set of proxies that all get the same configuration. */
export class PlanePusher {
  private readonly options: PlanePusherOptions;
  private readonly agent: http.Agent | https.Agent;
  private readonly links = new Map<string, ProxyLink>();
  private readonly waiters = new Set<() => void>();
  private readonly now: () => number;
  private push: Push | null = null;
  private since: number;
  /** The fact that was last told. */
  private told = '';

  constructor(options: PlanePusherOptions) {
    this.options = options;
    this.now = options.now ?? (() => performance.now());
    this.since = this.now();
    const keepAlive = { keepAlive: true, maxSockets: 2 };
    this.agent = options.token === null ? new http.Agent(keepAlive) : new https.Agent({ ...keepAlive, ...pskClientOptions(options.token) });
  }

  /** Makes `plan` the wanted state. The order is that of the snapshot behind the plan; an equal plan of the same epoch is not sent again. */
  apply(plan: PlanePlan, order: { readonly epoch: number; readonly sequence: number }): void {
    const { lines, header } = serializeConfig(plan.items, order, () => createHash('sha256'));
    if (this.push && this.push.digest === header.digest && this.push.epoch === header.epoch) return;
    this.push = { epoch: header.epoch, sequence: header.sequence, digest: header.digest, body: chunked(lines) };
    for (const link of this.links.values()) link.offer(this.push);
  }

  /** The proxies that exist now. New ones get the configuration at once, gone ones are forgotten. */
  follow(urls: readonly string[]): void {
    const wanted = new Set(urls);
    for (const [url, link] of this.links) {
      if (wanted.has(url)) continue;
      link.stop();
      this.links.delete(url);
    }
    for (const url of wanted) {
      if (this.links.has(url)) continue;
      const link = new ProxyLink({
        url: new URL(url),
        token: this.options.token,
        agent: this.agent,
        onChange: () => this.changed(),
        onHigherEpoch: this.options.onHigherEpoch,
        pollMs: this.options.pollMs ?? 1000,
        now: this.now,
        random: this.options.random ?? Math.random,
      });
      this.links.set(url, link);
      if (this.push) link.offer(this.push);
    }
  }

  /** Resolves when every answering proxy has the latest push, at the latest after `timeoutMs`: proxies that are down hold nothing back. */
  async round(timeoutMs: number): Promise<void> {
    if (this.settled()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, timeoutMs);
      const check = (): void => {
        if (this.settled()) done();
      };
      const waiters = this.waiters;
      function done(): void {
        clearTimeout(timer);
        waiters.delete(check);
        resolve();
      }
      waiters.add(check);
    });
  }

  fact(): PlaneFact {
    const links = [...this.links.values()];
    const answering = links.filter((link) => link.lastAnswer !== null && this.now() - link.lastAnswer < UNREACHABLE_MS);
    const failing = links.find((link) => link.error !== null);
    const detail = failing ? `${failing.url.host}: ${failing.error}` : '';
    const proxies = links.length;
    if (answering.length > 0) this.since = this.now();
    const rejecting = answering.find((link) => link.rejected);
    if (rejecting)
      return { state: 'Rejected', message: `Proxy ${rejecting.url.host} refuses the configuration: ${rejecting.error}`, proxies };
    if (this.push && answering.length > 0) {
      // One that was not heard of at all yet may be about to answer; one that failed to is down.
      const untried = links.filter((link) => link.lastAnswer === null && link.error === null).length;
      const behind = answering.filter((link) => !link.acknowledged).length + untried;
      if (behind === 0)
        return { state: 'Acknowledged', message: `${answering.length} of ${proxies} proxies have the configuration`, proxies };
      return {
        state: 'Behind',
        message: `${behind} of ${proxies} proxies do not have the configuration yet. ${detail}`.trim(),
        proxies,
      };
    }
    if (this.now() - this.since < UNREACHABLE_MS)
      return { state: 'Unknown', message: `Waiting for a proxy to answer on its config API. ${detail}`.trim(), proxies };
    const why = proxies === 0 ? 'no proxy is known: check --proxy-endpoints and the endpoints of its Service' : detail;
    return { state: 'Unreachable', message: `No proxy has answered on its config API for ${UNREACHABLE_MS / 1000} s: ${why}`, proxies };
  }

  stop(): void {
    for (const link of this.links.values()) link.stop();
    this.agent.destroy();
  }

  private changed(): void {
    for (const check of this.waiters) check();
    const fact = JSON.stringify(this.fact());
    if (fact === this.told) return;
    this.told = fact;
    this.options.onFact();
  }

  /** Nothing is worth waiting for: each proxy has the push, refuses it, or did not answer its first try. */
  private settled(): boolean {
    return [...this.links.values()].every((link) => link.acknowledged || link.rejected || link.error !== null);
  }
}

function chunked(lines: Iterable<string>): Buffer[] {
  const chunks: Buffer[] = [];
  let text = '';
  for (const line of lines) {
    text += `${line}\n`;
    if (text.length < CHUNK_BYTES) continue;
    chunks.push(Buffer.from(text));
    text = '';
  }
  if (text !== '') chunks.push(Buffer.from(text));
  return chunks;
}
