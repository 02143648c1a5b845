// TLS for the config API without certificates: both ends derive a pre-shared key from the auth token that they share anyway.
//
// Keys and tokens travel in pushed configurations, and a pod network is not private; a wrong token fails the handshake, before any
// byte of HTTP. TLS 1.2 because Node offers external pre-shared keys there only; ECDHE keeps forward secrecy.
import { hkdfSync } from 'node:crypto';
import type { TlsOptions, ConnectionOptions } from 'node:tls';

const IDENTITY = 'cftunnel-config-1';
const CIPHERS = 'ECDHE-PSK-CHACHA20-POLY1305';

/** Both ends put the token into an Authorization header: no blanks, no line breaks, nothing beyond ASCII, and not without end. */
export const isUsableToken = (token: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(token);

export const UNUSABLE_TOKEN = 'holds characters that no HTTP header carries, or more than 4096 of them: use letters and digits';

const derive = (token: string, purpose: string): Buffer => Buffer.from(hkdfSync('sha256', token, 'cf.k8s.lex.la/config-api', purpose, 32));

/** Options for `https.createServer`. */
export function pskServerOptions(token: string): TlsOptions {
  const psk = derive(token, 'tls-psk v1');
  return {
    ciphers: CIPHERS,
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.2',
    pskCallback: (_socket, identity) => (identity === IDENTITY ? psk : null),
  };
}

/** Options for `https.request` and agents. The key is the identity of the server, so there is no name to check. */
export function pskClientOptions(
  token: string,
): Pick<ConnectionOptions, 'ciphers' | 'minVersion' | 'maxVersion' | 'pskCallback' | 'checkServerIdentity'> {
  const psk = derive(token, 'tls-psk v1');
  return {
    ciphers: CIPHERS,
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.2',
    pskCallback: () => ({ psk, identity: IDENTITY }),
    checkServerIdentity: () => undefined,
  };
}
