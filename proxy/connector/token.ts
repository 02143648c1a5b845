// Reads the token of a tunnel: base64 of a JSON object with account, tunnel and secret.

export interface DecodedToken {
  /** Account tag: 32 hexadecimal digits. */
  readonly account: string;
  /** The tunnel's UUID in lower case. */
  readonly tunnelId: string;
  /** Secret value. */
  readonly secret: Uint8Array;
  /** Region that the tunnel is bound to, or null. */
  readonly endpoint: string | null;
}

const MAX_TOKEN_LENGTH = 8192;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Never throws, and its errors hold nothing of the token. */
export function decodeToken(token: string): DecodedToken | { readonly error: string } {
  const text = token.trim();
  if (text === '') return { error: 'the tunnel token is empty' };
  if (text.length > MAX_TOKEN_LENGTH) return { error: 'the tunnel token is too long' };
  if (!BASE64.test(text)) return { error: 'the tunnel token is not base64' };
  const fields = parseObject(Buffer.from(text, 'base64').toString('utf8'));
  if (fields === null) return { error: 'the tunnel token does not hold a JSON object' };
  const { a: account, t: tunnelId, s: secret, e: endpoint } = fields;
  if (typeof account !== 'string' || account === '') return { error: 'the tunnel token names no account' };
  if (typeof tunnelId !== 'string' || !UUID.test(tunnelId)) return { error: 'the tunnel token names no tunnel UUID' };
  if (typeof secret !== 'string' || secret === '' || !BASE64.test(secret)) return { error: 'the tunnel token holds no base64 secret' };
  return {
    account,
    tunnelId: tunnelId.toLowerCase(),
    secret: Buffer.from(secret, 'base64'),
    endpoint: typeof endpoint === 'string' && endpoint !== '' ? endpoint : null,
  };
}

interface TokenFields {
  readonly a?: unknown;
  readonly t?: unknown;
  readonly s?: unknown;
  readonly e?: unknown;
}

function parseObject(json: string): TokenFields | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
