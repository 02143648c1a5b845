// Composition root of the controller: makes every object that does IO and hands it down. No logic of its own.
import type { Logger } from 'pino';
import type { TunnelPlan } from './api/plan.ts';
import { PlanePusher } from './apply/proxy.ts';
import { TunnelApplier } from './apply/tunnel.ts';
import type { TunnelNotice } from './apply/tunnel.ts';
import { TunnelProvisioner } from './apply/tunnel-provisioner.ts';
import type { CloudflareApi, CloudflareObserver } from './cloudflare/api.ts';
import { createCloudflareClient } from './cloudflare/client.ts';
import { RateLimiter } from './cloudflare/rate.ts';
import type { ControllerConfig } from './config.ts';
import { folderGround } from './ground-folder.ts';
import type { Ground } from './ground.ts';
import { confirmGone } from './loop/confirm-gone.ts';
import { confirmShrink } from './loop/confirm-shrink.ts';
import { Reconciler } from './loop/reconcile.ts';
import type { RunReport } from './loop/reconcile.ts';
import { Waker } from './loop/wake.ts';
import { startAdmin } from './serve/admin.ts';
import type { Admin } from './serve/admin.ts';
import { ControllerMetrics } from './serve/metrics.ts';
import { observeCloudflare, recordRun } from './serve/observe.ts';
import type { SourceProblem } from './watch/source.ts';

export interface Controller {
  readonly admin: Admin;
  stop(): Promise<void>;
}

/** Resolves once everything is started; `onLost` is called when another replica has taken over. */
export async function startController(config: ControllerConfig, log: Logger, onLost: (reason: string) => void): Promise<Controller> {
  const metrics = new ControllerMetrics();
  const ground = await standOn(config, log, onLost);
  let report: RunReport | null = null;
  const waker = new Waker({ run: () => reconciler.run(), log });
  const wake = (): void => waker.wake();

  const plane = new PlanePusher({ token: ground.proxyToken, onFact: wake, onHigherEpoch: (epoch) => ground.raiseEpochAbove(epoch) });
  const cloudflare = createCloudflare(config, metrics);
  const tunnels = createTunnels({ config, log, cloudflare, ground, wake, planned: () => reconciler.tunnels });
  const provisioner = createProvisioner({ config, log, cloudflare, ground, wake });
  const reconciler = new Reconciler({
    source: ground.source,
    settings: config.settings,
    authority: ground.authority,
    entryPort: config.entryPort,
    proxyEndpoints: config.proxyEndpoints,
    plane,
    tunnels,
    provisioner,
    statuses: ground.statuses,
    events: ground.events,
    objects: ground.objects,
    onRun: (latest) => {
      report = latest;
      recordRun(metrics, latest);
    },
  });
  followSource(ground, log, wake);
  ground.onAuthority(wake);
  const admin = await startAdmin({
    healthAddress: config.healthAddress,
    metricsAddress: config.metricsAddress,
    registry: metrics.registry,
    notReady: () => (ground.source.synced ? null : unsynced(ground)),
  });
  await ground.source.start();
  log.info(
    { ...(config.watchDir === '' ? {} : { folder: config.watchDir }), controllerName: config.settings.controllerName },
    'controller started',
  );
  wake();
  return {
    admin,
    async stop() {
      log.info({ reconciled: report !== null }, 'stopping');
      await waker.stop();
      await Promise.all([tunnels.stop(), provisioner?.stop()]);
      plane.stop();
      await ground.stop();
      await admin.close();
    },
  };
}

/** Without a cluster its client is not loaded: that is a third of the time to start. */
async function standOn(config: ControllerConfig, log: Logger, onLost: (reason: string) => void): Promise<Ground> {
  if (config.watchDir !== '') return folderGround(config, log);
  const { kubeGround } = await import('./ground-kube.ts');
  return kubeGround(config, log, onLost);
}

interface Cloudflare {
  readonly observer: CloudflareObserver;
  readonly client: (apiToken: string) => CloudflareApi;
}

/** One limiter for all calls of the process. */
function createCloudflare(config: ControllerConfig, metrics: ControllerMetrics): Cloudflare {
  const limiter = new RateLimiter({ now: () => performance.now() });
  const observer = observeCloudflare(metrics);
  const baseURL = config.cloudflareApiUrl;
  return {
    observer,
    client: (apiToken) => createCloudflareClient({ apiToken, limiter, observer, ...(baseURL === '' ? {} : { baseURL }) }),
  };
}

interface ProvisionerParts {
  readonly config: ControllerConfig;
  readonly log: Logger;
  readonly cloudflare: Cloudflare;
  readonly ground: Ground;
  readonly wake: () => void;
}

function createProvisioner({ config, log, cloudflare, ground, wake }: ProvisionerParts): TunnelProvisioner | null {
  if (ground.tunnelSecrets === null) return null;
  return new TunnelProvisioner({
    client: cloudflare.client,
    secrets: ground.tunnelSecrets,
    confirmGone: (gateways) => confirmGone(gateways, ground.freshSource(), config.settings),
    onFact: wake,
    log,
  });
}

interface TunnelParts extends ProvisionerParts {
  /** What the last run wanted of the tunnels. */
  readonly planned: () => readonly TunnelPlan[];
}

function createTunnels({ config, log, cloudflare, ground, wake, planned }: TunnelParts): TunnelApplier {
  return new TunnelApplier({
    client: cloudflare.client,
    onFact: (tunnel, fact) => {
      if (fact !== null)
        log[fact.state === 'Failed' ? 'error' : 'info']({ tunnel, state: fact.state, reason: fact.reason, text: fact.message }, 'tunnel');
      wake();
    },
    onNotice: (notice) => ground.events?.record(noticeEvents(notice)),
    confirmShrink: async ({ id }) => {
      const plan = planned().find((candidate) => candidate.id === id);
      return plan !== undefined && (await confirmShrink(plan, ground.freshSource(), config.settings));
    },
    observer: cloudflare.observer,
    log,
  });
}

const noticeEvents = (notice: TunnelNotice) =>
  notice.configs.map((ref) => ({
    ref,
    type: 'Warning' as const,
    reason: notice.reason,
    action: 'Sync',
    message: notice.message,
  }));

/** Wakes the loop with each change, and tells once when the first picture is complete and when a problem comes or goes. */
function followSource(ground: Ground, log: Logger, wake: () => void): void {
  let synced = false;
  let known = new Map<string, string>();
  ground.source.onChange(() => {
    if (!synced && ground.source.synced) {
      synced = true;
      log.info({ revision: ground.source.snapshot().revision }, 'source synced');
    }
    const problems = byPlace(ground.source.problems());
    for (const [where, text] of problems) if (known.get(where) !== text) log.warn({ where, text }, 'problem');
    for (const where of known.keys()) if (!problems.has(where)) log.info({ where }, 'problem solved');
    known = problems;
    wake();
  });
}

/** Several at one place are told together: none of them hides the others. */
function byPlace(problems: readonly SourceProblem[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { where, message } of problems) {
    const before = texts.get(where);
    texts.set(where, before === undefined ? message : `${before}; ${message}`);
  }
  return texts;
}

function unsynced(ground: Ground): string {
  const problem = ground.source.problems()[0];
  return `not every kind has been read yet${problem ? `; ${problem.where}: ${problem.message}` : ''}`;
}
