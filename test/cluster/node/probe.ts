// Asks a container whether it works, as a kubelet does.
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Container, Probe } from './types.ts';

/** One question: true is yes. */
export type Ask = () => Promise<boolean>;

export function ask(probe: Probe, container: Container, address: string): Ask {
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  const { httpGet, tcpSocket } = probe;
  if (tcpSocket !== undefined) return () => connects(address, portNumber(container, tcpSocket.port), timeoutMs);
  if (httpGet === undefined) throw new Error(`container ${container.name}: only probes by httpGet and tcpSocket are emulated`);
  const port = portNumber(container, httpGet.port);
  const headers = {
    'user-agent': 'kube-probe',
    ...Object.fromEntries((httpGet.httpHeaders ?? []).map(({ name, value }) => [name, value])),
  };
  const options = { host: address, port, path: httpGet.path ?? '/', headers, agent: false, rejectUnauthorized: false };
  return () => answers(httpGet.scheme === 'HTTPS' ? https : http, options, timeoutMs);
}

function portNumber({ name, ports }: Container, port: number | string): number {
  if (typeof port === 'number') return port;
  const named = ports?.find((candidate) => candidate.name === port);
  if (named === undefined) throw new Error(`container ${name} has no port named ${port}`);
  return named.containerPort;
}

function connects(host: string, port: number, timeout: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = net.connect({ host, port, timeout });
  const done = (yes: boolean) => (): void => {
    socket.destroy();
    resolve(yes);
  };
  socket.on('connect', done(true)).on('error', done(false)).on('timeout', done(false));
  return promise;
}

/** Success is any status from 200 to 399. */
function answers(client: typeof http | typeof https, options: https.RequestOptions, timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const request = client.get({ ...options, signal: AbortSignal.timeout(timeoutMs) }, ({ statusCode = 0 }) => {
    resolve(statusCode >= 200 && statusCode < 400);
    request.destroy();
  });
  request.on('error', () => resolve(false));
  return promise;
}

const DEFAULT_PERIOD_SECONDS = 10;
const DEFAULT_FAILURE_THRESHOLD = 3;

/** Asks in the probe's rhythm, and tells each verdict once its threshold is reached: the first one, and then changes. Ends with `signal`. */
export async function keepAsking(probe: Probe, ask: Ask, signal: AbortSignal, verdict: (yes: boolean) => void): Promise<void> {
  const periodMs = (probe.periodSeconds ?? DEFAULT_PERIOD_SECONDS) * 1000;
  let last: boolean | null = null;
  let run = { yes: false, length: 0 };
  let waitMs = (probe.initialDelaySeconds ?? 0) * 1000;
  while (await sleeps(waitMs, signal)) {
    const yes = await ask();
    run = { yes, length: run.yes === yes ? run.length + 1 : 1 };
    const threshold = yes ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? DEFAULT_FAILURE_THRESHOLD);
    if (run.length >= threshold && last !== yes && !signal.aborted) verdict((last = yes));
    waitMs = periodMs;
  }
}

/** False when it was called off. */
export const sleeps = (ms: number, signal: AbortSignal): Promise<boolean> =>
  pause(ms, undefined, { signal }).then(
    () => true,
    () => false,
  );
