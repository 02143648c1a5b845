// The `curl` lines of the quick start, to be pasted into any POSIX shell.
import { execFileSync } from 'node:child_process';
import type { Visitor } from './requests.ts';
import { shellWord } from './terminal.ts';

export const urlOf = (visitor: Visitor, host: string, path: string): string => `https://${host}:${visitor.httpsPort}${path}`;

/** `flags` are for curl as they stand. */
export function curlLine(visitor: Visitor, host: string, path: string, flags = ''): string {
  // The names mean this machine only; a proxy of the user's would look them up elsewhere.
  const proxied = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'].some((name) => process.env[name]);
  return [
    'curl',
    ...(flags === '' ? [] : [flags]),
    ...(proxied ? [`--noproxy '*'`] : []),
    `--cacert ${shellWord(visitor.caFile)}`,
    `--resolve ${host}:${visitor.httpsPort}:${visitor.ip}`,
    shellWord(urlOf(visitor, host, path)),
  ].join(' ');
}

export interface CurlAbilities {
  readonly isInstalled: boolean;
  readonly hasHttp2: boolean;
}

export function curlAbilities(): CurlAbilities {
  try {
    const version = execFileSync('curl', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return { isInstalled: true, hasHttp2: /^Features:.*\bHTTP2\b/m.test(version) };
  } catch {
    return { isInstalled: false, hasHttp2: false };
  }
}
