// One pass over the tunnels of Gateways: makes those that are missing, adopts those that it made before, deletes those whose Gateways are gone.
import { TunnelReason } from '../api/condition.ts';
import type { ProvisionedTunnel, ProvisionFact, ProvisionPlan } from '../api/plan.ts';
import type { Key } from '../api/ref.ts';
import type { CloudflareApi, CloudflareError, Tunnel } from '../cloudflare/api.ts';
import { connectorOf, isSameConnector } from '../output/tunnel-token.ts';
import { describeError, type RetryClass } from './tunnel-facts.ts';
import type { TunnelRecord, TunnelSecrets } from './tunnel-secrets.ts';
import type { Log } from './tunnel-sync.ts';

export interface ProvisionDependencies {
  readonly secrets: TunnelSecrets;
  /** Which of these Gateways are gone by a fresh look at all of them. */
  readonly confirmGone: (gateways: readonly Key[]) => Promise<ReadonlySet<Key>>;
  readonly log: Log;
  /** Time of day in milliseconds. */
  readonly wallNow: () => number;
}

export interface ProvisionOutcome {
  /** By Gateway: why it has no tunnel yet. */
  readonly facts: ReadonlyMap<Key, ProvisionFact>;
  /** When it makes sense to try again; null when everything is as it should be. */
  readonly retry: RetryClass | null;
  readonly retryAfterMs: number | null;
}

/** Tunnels that are to go have connections as long as proxies drain them. */
const DRAINING: RetryClass = 'service';

export class ProvisionPass {
  readonly #plan: ProvisionPlan;
  readonly #accountId: string;
  readonly #api: CloudflareApi;
  readonly #deps: ProvisionDependencies;
  readonly #signal: AbortSignal;
  /** Whether the plan still is the latest. */
  readonly #wanted: () => boolean;
  readonly #facts = new Map<Key, ProvisionFact>();
  #retry: RetryClass | null = null;
  #retryAfterMs: number | null = null;

  constructor(
    plan: ProvisionPlan,
    accountId: string,
    api: CloudflareApi,
    deps: ProvisionDependencies,
    run: { readonly signal: AbortSignal; readonly wanted: () => boolean },
  ) {
    this.#plan = plan;
    this.#accountId = accountId;
    this.#api = api;
    this.#deps = deps;
    this.#signal = run.signal;
    this.#wanted = run.wanted;
  }

  /** `thorough` compares the tokens too: they may have been rotated. Throws for what the cluster refuses, never for what Cloudflare does. */
  async run(thorough: boolean): Promise<ProvisionOutcome> {
    const listed = await this.#api.tunnels(this.#accountId, this.#plan.prefix, this.#signal);
    if (!listed.ok) return this.#fail(listed.error);
    const records = await this.#deps.secrets.list();
    for (const tunnel of this.#plan.tunnels) {
      if (!this.#wanted()) return this.#outcome();
      const error = await this.#ensure(tunnel, listed.value, records, thorough);
      if (error !== null) return this.#fail(error);
    }
    const error = await this.#removeGone(listed.value, records);
    return error === null ? this.#outcome() : this.#fail(error);
  }

  async #ensure(
    wanted: ProvisionedTunnel,
    listed: readonly Tunnel[],
    records: readonly TunnelRecord[],
    thorough: boolean,
  ): Promise<CloudflareError | null> {
    const found = listed.find(({ name }) => name === wanted.name);
    if (found !== undefined && this.#gatewayOf(found, records) !== wanted.gateway) {
      this.#pend(wanted, `${TunnelReason.TunnelNameTaken}: ${nameTaken(found)}`, 'credentials');
      return null;
    }
    const tunnel = found ?? (await this.#create(wanted));
    if ('kind' in tunnel) return this.#excuse(wanted, tunnel);
    const kept = wanted.connectorToken === null ? null : connectorOf(wanted.connectorToken);
    if (kept?.tunnelId === tunnel.id && !thorough) return null;
    const token = await this.#api.tunnelToken(this.#accountId, tunnel.id, this.#signal);
    if (!token.ok) return token.error;
    if (wanted.connectorToken !== null && isSameConnector(wanted.connectorToken, token.value)) return null;
    const record = { secret: wanted.secret, gateway: wanted.gateway, tunnelId: tunnel.id, accountId: this.#accountId };
    await this.#deps.secrets.write(record, token.value);
    return null;
  }

  async #create(wanted: ProvisionedTunnel): Promise<Tunnel | CloudflareError> {
    const metadata = { ...this.#plan.owner, gateway: wanted.gateway };
    const made = await this.#api.createTunnel(this.#accountId, { name: wanted.name, metadata }, this.#signal);
    if (!made.ok) return made.error;
    this.#deps.log.info({ tunnel: made.value.id, gateway: wanted.gateway }, 'made a tunnel');
    return made.value;
  }

  /** A refusal of one tunnel is no reason to leave out the others; what concerns all of them ends the pass. */
  #excuse(wanted: ProvisionedTunnel, error: CloudflareError): CloudflareError | null {
    if (error.kind !== 'Invalid' && error.kind !== 'Conflict') return error;
    // Whatever holds the name now is looked at in the next pass.
    if (error.kind === 'Conflict') this.#pend(wanted, error.message, 'service');
    else {
      this.#facts.set(wanted.gateway, {
        reason: 'NoResources',
        message: `${error.message} Delete tunnels that are not needed, or have Cloudflare's limit raised.`,
      });
      this.#later('credentials');
    }
    return null;
  }

  /** The Gateway for which we made a tunnel: by what is noted with it, or by our own record of its id. Null for one that we did not make. */
  #gatewayOf({ id, metadata }: Tunnel, records: readonly TunnelRecord[]): Key | null {
    const isOurs = Object.entries(this.#plan.owner).every(([name, value]) => metadata[name] === value);
    if (isOurs && typeof metadata['gateway'] === 'string') return metadata['gateway'];
    return records.find(({ tunnelId, accountId }) => tunnelId === id && accountId === this.#accountId)?.gateway ?? null;
  }

  async #removeGone(listed: readonly Tunnel[], records: readonly TunnelRecord[]): Promise<CloudflareError | null> {
    const leaving = listed.flatMap((tunnel) => {
      const gateway = this.#gatewayOf(tunnel, records);
      return gateway === null || this.#plan.gateways.has(gateway) ? [] : [{ tunnel, gateway }];
    });
    const lost = records.filter(
      ({ gateway, tunnelId, accountId }) =>
        accountId === this.#accountId && !this.#plan.gateways.has(gateway) && !listed.some(({ id }) => id === tunnelId),
    );
    if (leaving.length + lost.length === 0 || !this.#wanted()) return null;
    const gone = await this.#deps.confirmGone([...leaving, ...lost].map(({ gateway }) => gateway));
    for (const { tunnel, gateway } of leaving) {
      if (!gone.has(gateway)) this.#later('service');
      else {
        const error = await this.#delete(tunnel, gateway, records);
        if (error !== null) return error;
      }
    }
    for (const { secret, gateway } of lost) if (gone.has(gateway)) await this.#deps.secrets.remove(secret);
    return null;
  }

  async #delete({ id, connections }: Tunnel, gateway: Key, records: readonly TunnelRecord[]): Promise<CloudflareError | null> {
    if (connections > 0) return this.#later(DRAINING);
    const deleted = await this.#api.deleteTunnel(this.#accountId, id, this.#signal);
    if (!deleted.ok && deleted.error.kind !== 'NotFound') {
      // Refused as it is: a connector came back between the look and the call.
      return deleted.error.kind === 'Invalid' || deleted.error.kind === 'Conflict' ? this.#later(DRAINING) : deleted.error;
    }
    this.#deps.log.info({ tunnel: id, gateway }, 'deleted the tunnel of a Gateway that is gone');
    for (const { secret, tunnelId } of records) if (tunnelId === id) await this.#deps.secrets.remove(secret);
    return null;
  }

  #pend({ gateway }: ProvisionedTunnel, message: string, retry: RetryClass): void {
    this.#facts.set(gateway, { reason: 'Pending', message });
    this.#later(retry);
  }

  /** The sooner of two reasons to try again. */
  #later(retry: RetryClass): null {
    if (this.#retry === null || retry === 'service') this.#retry = retry;
    return null;
  }

  /** What failed concerns every Gateway that still waits for its tunnel. */
  #fail(error: CloudflareError): ProvisionOutcome {
    const { message, retry, retryAfterMs } = describeError(error, this.#deps.wallNow());
    for (const { gateway, connectorToken } of this.#plan.tunnels)
      if (connectorToken === null && !this.#facts.has(gateway)) this.#facts.set(gateway, { reason: 'Pending', message });
    this.#deps.log.warn({ config: this.#plan.id, error: message }, 'tunnels of Gateways could not be brought to what they should be');
    this.#retry = retry;
    this.#retryAfterMs = retryAfterMs;
    return this.#outcome();
  }

  #outcome(): ProvisionOutcome {
    return { facts: this.#facts, retry: this.#retry, retryAfterMs: this.#retryAfterMs };
  }
}

const nameTaken = ({ id, name }: Tunnel): string =>
  `there is a tunnel ${id} with the name ${name} that this controller did not make, and which it therefore leaves alone: rename or delete it at Cloudflare`;
