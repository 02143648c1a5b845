// One container of a pod: its runs one after the other, what its probes say, and what became of it.
import { ContainerProcess, PATH } from './container-process.ts';
import type { Mount } from './container-root.ts';
import { environment, expand } from './environment.ts';
import { describeError } from '#controller/kube/errors.ts';
import type { PlacedPod } from './fields.ts';
import { imageOf, IMAGE_FOLDER, type Image } from './images.ts';
import { ContainerLog } from './log.ts';
import { ask, keepAsking, sleeps } from './probe.ts';
import type { References } from './references.ts';
import { timestamp, type ContainerState, type ContainerView } from './status.ts';
import type { Container, Probe } from './types.ts';

/** A kubelet begins with 10 s and ends at 5 min; nobody wants to wait for that in a test. */
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 10_000;
/** Who lived for so long starts again at once. */
const HEALTHY_MS = 10_000;
const DEFAULT_GRACE_SECONDS = 30;

export interface ContainerContext {
  readonly placed: PlacedPod;
  readonly references: References;
  readonly images: readonly Image[];
  /** What every container of the cluster has in its environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly enter: readonly string[];
  /** A folder of the node for this container alone. */
  readonly folder: string;
  readonly mounts: () => readonly Mount[];
  /** Something of the view is different. */
  readonly changed: () => void;
}

export class PodContainer {
  readonly spec: Container;
  /** The running or last run's, and that of the one before. */
  log = new ContainerLog();
  previousLog: ContainerLog | null = null;
  readonly #context: ContainerContext;
  readonly #stop = new AbortController();
  #process: ContainerProcess | null = null;
  #state: ContainerState = { waiting: { reason: 'ContainerCreating' } };
  #lastState: ContainerState | null = null;
  #starts = 0;
  #isStarted = false;
  #isReady = false;
  #isOver = false;

  constructor(spec: Container, context: ContainerContext) {
    this.spec = spec;
    this.#context = context;
  }

  get view(): ContainerView {
    return {
      name: this.spec.name,
      image: this.spec.image,
      state: this.#state,
      lastState: this.#lastState,
      isStarted: this.#isStarted,
      isReady: this.#isReady,
      restarts: Math.max(0, this.#starts - 1),
      isOver: this.#isOver,
    };
  }

  /** Resolves when no run will follow, because of the restart policy or of `stop`. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    let backoffMs = FIRST_BACKOFF_MS;
    while (!signal.aborted) {
      const process = this.#start();
      if (process === null) {
        await this.#context.references.changes.next(signal);
        continue;
      }
      const exitCode = await this.#live(process);
      if (signal.aborted || !this.#restartsAfter(exitCode)) break;
      if (Date.now() - process.startedAt.getTime() > HEALTHY_MS) backoffMs = FIRST_BACKOFF_MS;
      this.#wait('CrashLoopBackOff', `the last run ended with exit code ${exitCode}`);
      await sleeps(backoffMs, signal);
      backoffMs = Math.min(backoffMs * 2, LONGEST_BACKOFF_MS);
    }
    this.#isOver = true;
    this.#context.changed();
  }

  /** Ends it for good; resolves when the program is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort();
    await this.#process?.end(graceMs);
  }

  /** Null when something is missing for it. */
  #start(): ContainerProcess | null {
    const { placed, references, images, env, enter, folder, mounts } = this.#context;
    try {
      const image = imageOf(images, this.spec.image);
      const values = environment(placed, this.spec, references, { PATH, HOME: '/', ...env, ...image.env });
      const command = [...(this.spec.command ?? image.entrypoint), ...(this.spec.args ?? [])].map((part) => expand(part, values));
      const root = {
        enter,
        hostname: placed.pod.metadata.name,
        folder: `${folder}-${this.#starts}`,
        mounts: [{ source: image.folder, target: IMAGE_FOLDER }, ...mounts()],
      };
      if (this.#starts > 0) {
        this.previousLog = this.log;
        this.log = new ContainerLog();
      }
      this.#starts += 1;
      return new ContainerProcess(root, command, values, this.log);
    } catch (error) {
      this.#wait('CreateContainerConfigError', describeError(error));
      return null;
    }
  }

  async #live(process: ContainerProcess): Promise<number> {
    const over = new AbortController();
    this.#process = process;
    this.#state = { running: { startedAt: timestamp(process.startedAt) } };
    this.#context.changed();
    this.#probe(process, over.signal).catch((error: unknown) => {
      this.#wait('CreateContainerError', describeError(error));
      return process.end(0);
    });
    const exitCode = await process.ended;
    over.abort();
    this.#process = null;
    this.#isReady = false;
    this.#isStarted = false;
    const { startedAt } = process;
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const times = { startedAt: timestamp(startedAt), finishedAt: timestamp(new Date()) };
    this.#state = { terminated: { exitCode, reason, ...times } };
    this.#context.changed();
    return exitCode;
  }

  async #probe(process: ContainerProcess, signal: AbortSignal): Promise<void> {
    const { livenessProbe, readinessProbe } = this.spec;
    const startupProbe = this.spec.startupProbe ?? imageOf(this.#context.images, this.spec.image).startupProbe;
    if (startupProbe !== undefined && !(await this.#hasStarted(startupProbe, process, signal))) return;
    if (signal.aborted) return;
    this.#isStarted = true;
    this.#isReady = readinessProbe === undefined;
    this.#context.changed();
    await Promise.all([
      readinessProbe && this.#keepAsking(readinessProbe, process, signal, (yes) => this.#setReady(yes)),
      livenessProbe && this.#keepAsking(livenessProbe, process, signal, (yes) => !yes && this.#end(process)),
    ]);
  }

  /** Whoever does not come up is ended. */
  async #hasStarted(probe: Probe, process: ContainerProcess, signal: AbortSignal): Promise<boolean> {
    const decided = new AbortController();
    let started = false;
    await this.#keepAsking(probe, process, AbortSignal.any([signal, decided.signal]), (yes) => {
      started = yes;
      if (!yes) this.#end(process);
      decided.abort();
    });
    return started;
  }

  #end(process: ContainerProcess): void {
    const { terminationGracePeriodSeconds = DEFAULT_GRACE_SECONDS } = this.#context.placed.pod.spec;
    void process.end(terminationGracePeriodSeconds * 1000);
  }

  /** The delay counts from the start of the program. */
  #keepAsking(probe: Probe, process: ContainerProcess, signal: AbortSignal, verdict: (yes: boolean) => void): Promise<void> {
    const elapsedSeconds = (Date.now() - process.startedAt.getTime()) / 1000;
    const initialDelaySeconds = Math.max(0, (probe.initialDelaySeconds ?? 0) - elapsedSeconds);
    return keepAsking({ ...probe, initialDelaySeconds }, ask(probe, this.spec, this.#context.placed.address), signal, verdict);
  }

  #setReady(isReady: boolean): void {
    this.#isReady = isReady;
    this.#context.changed();
  }

  #wait(reason: string, message: string): void {
    if ('terminated' in this.#state) this.#lastState = this.#state;
    this.#state = { waiting: { reason, message } };
    this.#context.changed();
  }

  #restartsAfter(exitCode: number): boolean {
    const { restartPolicy = 'Always' } = this.#context.placed.pod.spec;
    return restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
  }
}
