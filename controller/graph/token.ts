// Secret data and the connector token in it. No value of a Secret ever becomes part of a problem's text.
import type { Secret } from '../api/core.ts';

/** UTF-8 text of standard base64 (line breaks allowed), or null when it is not base64 or not UTF-8. */
export function decodeBase64(text: string): string | null {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * The value of a Secret's key without white space around it: Secrets made with `echo` end in a line break. `undefined` when the key is
 * absent, null when its value is not base64. A folder of YAML may carry `stringData`, which the API server would have merged into `data`.
 */
export function secretValue(secret: Secret, key: string): string | null | undefined {
  const plain = own(secret.stringData, key);
  if (plain !== undefined) return plain.trim();
  const encoded = own(secret.data, key);
  if (encoded === undefined) return undefined;
  return decodeBase64(encoded)?.trim() ?? null;
}

const own = (record: Readonly<Record<string, string>> | undefined, key: string): string | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;

export interface TunnelToken {
  readonly accountId: string;
  /** Lower-case UUID. */
  readonly tunnelId: string;
}

interface WholeToken extends TunnelToken {
  /** Secret value. */
  readonly secret: string;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
export const ACCOUNT_ID = /^[0-9a-f]{32}$/;

/**
 * What a connector token says: base64 of the JSON object {a: account, t: tunnel, s: the tunnel's secret}. The secret is checked for being
 * there and not returned. A problem says which part is wrong, never what it is.
 */
export function decodeToken(text: string): TunnelToken | { readonly problem: string } {
  const token = decodeWhole(text);
  return 'problem' in token ? token : { accountId: token.accountId, tunnelId: token.tunnelId };
}

/** Whether two connector tokens connect the same tunnel, however they are written. False when either is none. */
export function isSameConnector(a: string, b: string): boolean {
  const [left, right] = [decodeWhole(a), decodeWhole(b)];
  if ('problem' in left || 'problem' in right) return false;
  return left.accountId === right.accountId && left.tunnelId === right.tunnelId && left.secret === right.secret;
}

function decodeWhole(text: string): WholeToken | { readonly problem: string } {
  const json = decodeBase64(text.trim());
  if (json === null) return { problem: 'it is not base64' };
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { problem: 'it is not base64 of a JSON object' };
  }
  if (typeof value !== 'object' || value === null) return { problem: 'it is not base64 of a JSON object' };
  const { a, t, s } = value as Readonly<Record<string, unknown>>;
  if (typeof a !== 'string' || !ACCOUNT_ID.test(a)) return { problem: 'its field "a" is not an account id' };
  const tunnelId = typeof t === 'string' ? t.toLowerCase() : '';
  if (!UUID.test(tunnelId)) return { problem: 'its field "t" is not a tunnel id' };
  if (typeof s !== 'string' || s === '') return { problem: 'its field "s" is missing' };
  return { accountId: a, tunnelId, secret: s };
}
