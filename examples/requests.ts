// What a visitor of the quick start can send: each request, what should come back, and its `curl` line.
import https from 'node:https';
import type http from 'node:http';
import { WebSocket } from 'ws';
import { curlLine, urlOf } from './curl.ts';
import { WELCOME } from './demo/app.ts';
import { greet } from './demo/greeter.ts';

export interface Visitor {
  /** Where the tunnel's name leads to. */
  readonly ip: string;
  readonly httpsPort: number;
  readonly ca: Buffer;
  readonly caFile: string;
}

export interface Exchange {
  readonly sent: string;
  readonly expected: string;
  /** What came back, in one line; throws with what came back instead. */
  run(visitor: Visitor): Promise<string>;
  curl(visitor: Visitor): string;
  /** What is different with curl. */
  readonly hint?: string;
  /** The line needs a curl that was built with HTTP/2. */
  readonly needsHttp2?: boolean;
}

const TIMEOUT_MS = 10_000;
const APP = 'app.example.com';
const GRPC = 'grpc.example.com';

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

interface Sent {
  readonly method?: string;
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(visitor: Visitor, host: string, path: string, { method = 'GET', body, headers }: Sent = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = https.request({
      host: visitor.ip,
      port: visitor.httpsPort,
      path,
      method,
      servername: host,
      ca: visitor.ca,
      headers: { host: `${host}:${visitor.httpsPort}`, ...(body === undefined ? {} : { 'content-length': body.length }), ...headers },
      agent: false,
      timeout: TIMEOUT_MS,
    });
    request.on('timeout', () => request.destroy(new Error('no answer within 10 s')));
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    request.end(body);
  });
}

/** What the demo application says of the request that reached it. */
interface Seen {
  readonly path: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function seenBy(
  visitor: Visitor,
  path: string,
  headers?: Readonly<Record<string, string>>,
): Promise<Answer & { readonly seen: Seen }> {
  const answer = await send(visitor, APP, path, headers === undefined ? {} : { headers });
  expect(answer.status === 200, inWords(answer));
  return { ...answer, seen: JSON.parse(answer.body) as Seen };
}

const expect = (isRight: boolean, cameBack: string): void => {
  if (!isRight) throw new Error(cameBack);
};

/** Short enough for a row of a table. */
function inWords({ status, body }: Answer): string {
  const line = body.replaceAll(/\s+/g, ' ').trim();
  return `${status}${line === '' ? '' : `: ${line.slice(0, 60)}`}`;
}

/** The first two WebSocket messages: the welcome, and the answer to `text`. */
function converse(visitor: Visitor, text: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`wss://${visitor.ip}:${visitor.httpsPort}/`, {
      agent: new https.Agent({ servername: APP, ca: visitor.ca }),
      headers: { host: `${APP}:${visitor.httpsPort}` },
      handshakeTimeout: TIMEOUT_MS,
    });
    const timer = setTimeout(() => socket.emit('error', new Error('no message within 10 s')), TIMEOUT_MS);
    const messages: string[] = [];
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      socket.terminate();
      settle();
    };
    socket.on('error', (error) => end(() => reject(error)));
    socket.on('close', () => end(() => reject(new Error('the connection was closed'))));
    socket.on('open', () => socket.send(text));
    socket.on('message', (data) => {
      messages.push(Buffer.isBuffer(data) ? data.toString() : 'no single buffer');
      if (messages.length === 2) end(() => resolve(messages));
    });
  });
}

const UPGRADE = [
  '-siN --http1.1 --max-time 2',
  `-H 'Connection: Upgrade' -H 'Upgrade: websocket'`,
  `-H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: cXVpY2tzdGFydHF1aWNrcw=='`,
].join(' ');

export const exchanges: readonly Exchange[] = [
  {
    sent: `GET https://${APP}/hello`,
    expected: '200, the demo application says what reached it',
    curl: (visitor) => curlLine(visitor, APP, '/hello'),
    async run(visitor) {
      const { seen } = await seenBy(visitor, '/hello');
      const proto = seen.headers['x-forwarded-proto'];
      const cameBack = `200, the backend saw ${seen.path} from ${seen.headers['x-real-ip']} over ${proto}`;
      expect(seen.host.startsWith(APP) && seen.path === '/hello' && proto === 'https', cameBack);
      return cameBack;
    },
  },
  {
    sent: `GET https://${APP}/api/users?page=2`,
    expected: '200, prefix /api rewritten away, response header added',
    curl: (visitor) => curlLine(visitor, APP, '/api/users?page=2', '-i'),
    async run(visitor) {
      const { seen, headers } = await seenBy(visitor, '/api/users?page=2');
      const cameBack = `200, the backend saw ${seen.path}; x-served-by: ${String(headers['x-served-by'])}`;
      expect(seen.path === '/users?page=2' && headers['x-served-by'] === 'quickstart', cameBack);
      return cameBack;
    },
  },
  {
    sent: `GET https://${APP}/old/page`,
    expected: '301 to /new/page',
    curl: (visitor) => curlLine(visitor, APP, '/old/page', '-i'),
    async run(visitor) {
      const answer = await send(visitor, APP, '/old/page');
      const { status, headers } = answer;
      expect(status === 301 && headers.location === urlOf(visitor, APP, '/new/page'), `${inWords(answer)}, location ${headers.location}`);
      return `301 to ${headers.location}`;
    },
  },
  {
    sent: `POST https://${APP}/upload (1 MiB)`,
    expected: '200, every byte arrived',
    curl: (visitor) => `head -c 1048576 /dev/zero | ${curlLine(visitor, APP, '/upload', '--data-binary @-')}`,
    async run(visitor) {
      const answer = await send(visitor, APP, '/upload', { method: 'POST', body: Buffer.alloc(1 << 20, 65) });
      expect(answer.status === 200 && answer.body === 'received 1048576 bytes\n', inWords(answer));
      return '200, received 1048576 bytes';
    },
  },
  {
    sent: `GET https://${APP}/events (SSE)`,
    expected: '200, five events, one by one',
    curl: (visitor) => curlLine(visitor, APP, '/events', '-N'),
    async run(visitor) {
      const answer = await send(visitor, APP, '/events');
      const count = answer.body.match(/^data: /gm)?.length ?? 0;
      expect(answer.headers['content-type'] === 'text/event-stream' && count === 5, inWords(answer));
      return `200, ${count} events`;
    },
  },
  {
    sent: `WebSocket wss://${APP}/`,
    expected: 'a welcome, then every message comes back',
    hint: 'this line only listens, for two seconds',
    curl: (visitor) => curlLine(visitor, APP, '/', UPGRADE),
    async run(visitor) {
      const messages = await converse(visitor, 'hello');
      expect(messages[0] === WELCOME && messages[1] === 'you said: hello', messages.join(' / '));
      return messages.join(' / ');
    },
  },
  {
    sent: `gRPC ${GRPC} demo.Greeter/Hello, HelloStream`,
    expected: 'a greeting, then three as a stream',
    hint: 'this line calls the first, and skips the 7 bytes before its text',
    needsHttp2: true,
    curl: (visitor) => {
      const flags = `-s --http2 -H 'content-type: application/grpc' -H 'te: trailers' --data-binary @-`;
      const line = curlLine(visitor, GRPC, '/demo.Greeter/Hello', flags);
      return `printf '\\000\\000\\000\\000\\007\\n\\005world' | ${line} | tail -c +8; echo`;
    },
    async run(visitor) {
      const target = { address: `${visitor.ip}:${visitor.httpsPort}`, host: GRPC, ca: visitor.ca };
      const answers = await greet(target, 'world');
      expect(answers.length === 4 && answers[0] === 'Hello, world!', answers.join(' '));
      return answers.join(' ');
    },
  },
  {
    sent: `GET https://${APP}/hello, X-Forwarded-For forged`,
    expected: 'what the visitor claims to be is not passed on',
    curl: (visitor) => curlLine(visitor, APP, '/hello', `-H 'X-Forwarded-For: 8.8.8.8'`),
    async run(visitor) {
      const { seen } = await seenBy(visitor, '/hello', { 'x-forwarded-for': '8.8.8.8', 'cf-connecting-ip': '8.8.8.8' });
      const { 'x-forwarded-for': forwarded, 'x-real-ip': real } = seen.headers;
      expect(forwarded === real && !`${forwarded}`.includes('8.8.8.8'), `200, x-forwarded-for: ${forwarded}, x-real-ip: ${real}`);
      return `200, x-forwarded-for: ${forwarded}`;
    },
  },
  {
    sent: 'GET https://unknown.example.com/',
    expected: '404, no route has this host',
    curl: (visitor) => curlLine(visitor, 'unknown.example.com', '/', '-i'),
    async run(visitor) {
      const answer = await send(visitor, 'unknown.example.com', '/');
      expect(answer.status === 404, inWords(answer));
      return '404';
    },
  },
];
