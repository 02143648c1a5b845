// Requests and ports on loopback.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export type Fields = Readonly<Record<string, string>>;

const LIMIT_MS = 40_000;

/** Free now; nobody else on this machine is likely to take them within the next second. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => net.createServer());
  await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** One request on a connection of its own. */
export function request(options: https.RequestOptions & { readonly secure?: boolean }, body: string | Buffer = ''): Promise<Answer> {
  const { secure = false, ...rest } = options;
  return new Promise((resolve, reject) => {
    const sent = (secure ? https : http).request({ host: '127.0.0.1', agent: false, timeout: LIMIT_MS, ...rest }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.end(body);
  });
}

export const get = (port: number, path: string, headers: Fields = {}): Promise<Answer> => request({ port, path, headers });

/** Sends bytes that need not be HTTP; resolves with what came back until the other side ended the connection. */
export function raw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
    socket.setTimeout(LIMIT_MS, () => socket.destroy());
    socket.write(bytes, 'latin1');
  });
}
