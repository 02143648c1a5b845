// Which account an API token belongs to, when nobody has said so: the only one that it can see.
import { TunnelReason } from '../api/condition.ts';
import type { CloudflareApi, CloudflareError } from '../cloudflare/api.ts';
import { tokenHash } from '../cloudflare/client.ts';

export type AccountAnswer =
  | { readonly ok: true; readonly accountId: string }
  | {
      readonly ok: false;
      readonly reason: typeof TunnelReason.AccountNotFound | typeof TunnelReason.AccountAmbiguous;
      readonly message: string;
    }
  | { readonly ok: false; readonly reason: 'ApiError'; readonly error: CloudflareError };

/** Detected accounts by API token. Only a found account is remembered; tunnels that share a token share one look-up. */
export class AccountFinder {
  readonly #known = new Map<string, Promise<AccountAnswer>>();
  readonly #stopped = new AbortController();

  find(apiToken: string, api: CloudflareApi): Promise<AccountAnswer> {
    const key = tokenHash(apiToken);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const asked = detect(api, this.#stopped.signal);
    this.#known.set(key, asked);
    void asked.then((answer) => {
      if (!answer.ok && this.#known.get(key) === asked) this.#known.delete(key);
    });
    return asked;
  }

  /** The token was refused or is no longer used: what it could see may have changed. */
  forget(apiToken: string): void {
    this.#known.delete(tokenHash(apiToken));
  }

  /** Ends look-ups in flight. They are nobody's in particular, so that no single tunnel ends them. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Drops what belongs to tokens that no plan has any more. */
  keep(apiTokens: Iterable<string>): void {
    const wanted = new Set([...apiTokens].map(tokenHash));
    for (const key of this.#known.keys()) if (!wanted.has(key)) this.#known.delete(key);
  }
}

async function detect(api: CloudflareApi, signal: AbortSignal): Promise<AccountAnswer> {
  const listed = await api.accounts(signal);
  if (!listed.ok) return { ok: false, reason: 'ApiError', error: listed.error };
  const [first, ...others] = listed.value;
  if (first === undefined) {
    return {
      ok: false,
      reason: TunnelReason.AccountNotFound,
      message:
        'The API token sees no account, so the account cannot be detected. Give the token a permission on the account, or set spec.accountId.',
    };
  }
  if (others.length > 0) {
    const some = listed.value.slice(0, 5).map(({ id, name }) => `${id} (${name.slice(0, 60)})`);
    return {
      ok: false,
      reason: TunnelReason.AccountAmbiguous,
      message: `The API token sees ${listed.value.length} accounts: ${some.join(', ')}${listed.value.length > some.length ? ', …' : ''}. Set spec.accountId to the one that owns the tunnel.`,
    };
  }
  return { ok: true, accountId: first.id };
}
