// What a visitor of the quick start can send: each request with its `curl` line, and what should come back.
import http from 'node:http';
import https from 'node:https';
import { WebSocket } from 'ws';
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
  /** What came back, in one line; throws with the reason when it is not what was expected. */
  run(visitor: Visitor): Promise<string>;
  /** The line to paste, null where curl cannot do it. */
  curl(visitor: Visitor): string;
}

const TIMEOUT_MS = 10_000;

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

function send(
  visitor: Visitor,
  host: string,
  path: string,
  options: { readonly method?: string; readonly body?: Buffer; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = https.request({
      host: visitor.ip,
      port: visitor.httpsPort,
      path,
      method: options.method ?? 'GET',
      servername: host,
      ca: visitor.ca,
      headers: { host: `${host}:${visitor.httpsPort}`, 'content-length': options.body?.length ?? 0, ...options.headers },
      agent: false,
      timeout: TIMEOUT_MS,
    });
    request.on('timeout', () => request.destroy(new Error('no answer within 10 s')));
    request.on('error', reject);
    request.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (body += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    request.end(options.body);
  });
}

const expect = (ok: boolean, what: string): void => {
  if (!ok) throw new Error(what);
};

const url = (visitor: Visitor, host: string, path: string): string => `https://${host}:${visitor.httpsPort}${path}`;

const curl =
  (host: string, path: string, flags = '') =>
  (visitor: Visitor): string =>
    `curl ${flags}--cacert ${visitor.caFile} --resolve ${host}:${visitor.httpsPort}:${visitor.ip} ${url(visitor, host, path)}`;

/** The WebSocket message that comes back. */
function echo(visitor: Visitor, host: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const agent = new https.Agent({ servername: host, ca: visitor.ca });
    const headers = { host: `${host}:${visitor.httpsPort}` };
    const socket = new WebSocket(`wss://${visitor.ip}:${visitor.httpsPort}/`, { agent, headers, handshakeTimeout: TIMEOUT_MS });
    socket.on('error', reject);
    socket.on('open', () => socket.send(text));
    socket.on('message', (data) => {
      socket.close();
      resolve(String(data as Buffer));
    });
  });
}

export const exchanges: readonly Exchange[] = [
  {
    sent: 'GET https://app.example.com/hello',
    expected: '200, host and visitor address reach the backend',
    curl: curl('app.example.com', '/hello'),
    async run(visitor) {
      const { status, body } = await send(visitor, 'app.example.com', '/hello');
      expect(status === 200, `status ${status}: ${body}`);
      const seen = JSON.parse(body) as { path: string; host: string; headers: Record<string, string> };
      expect(seen.host.startsWith('app.example.com') && seen.path === '/hello', `the backend saw ${seen.host}${seen.path}`);
      expect(seen.headers['x-forwarded-proto'] === 'https', `x-forwarded-proto is ${seen.headers['x-forwarded-proto']}`);
      return `200, the backend saw ${seen.path} from ${seen.headers['x-real-ip']} over ${seen.headers['x-forwarded-proto']}`;
    },
  },
  {
    sent: 'GET https://app.example.com/api/users?page=2',
    expected: '200, prefix /api rewritten away, response header added',
    curl: curl('app.example.com', '/api/users?page=2', '-i '),
    async run(visitor) {
      const { status, headers, body } = await send(visitor, 'app.example.com', '/api/users?page=2');
      const seen = status === 200 ? (JSON.parse(body) as { path: string }).path : body;
      expect(seen === '/users?page=2', `status ${status}, the backend saw ${seen}`);
      expect(headers['x-served-by'] === 'quickstart', `x-served-by is ${String(headers['x-served-by'])}`);
      return `200, the backend saw ${seen}; x-served-by: quickstart`;
    },
  },
  {
    sent: 'GET https://app.example.com/old/page',
    expected: '301 to /new/page',
    curl: curl('app.example.com', '/old/page', '-i '),
    async run(visitor) {
      const { status, headers } = await send(visitor, 'app.example.com', '/old/page');
      expect(
        status === 301 && headers.location === url(visitor, 'app.example.com', '/new/page'),
        `status ${status}, location ${headers.location}`,
      );
      return `301 to ${headers.location}`;
    },
  },
  {
    sent: 'POST https://app.example.com/upload (1 MiB)',
    expected: '200, every byte arrived',
    curl: (visitor) => `head -c 1048576 /dev/zero | ${curl('app.example.com', '/upload', '--data-binary @- ')(visitor)}`,
    async run(visitor) {
      const { status, body } = await send(visitor, 'app.example.com', '/upload', { method: 'POST', body: Buffer.alloc(1 << 20, 65) });
      expect(status === 200 && body === 'received 1048576 bytes\n', `status ${status}: ${body}`);
      return '200, received 1048576 bytes';
    },
  },
  {
    sent: 'GET https://app.example.com/events (SSE)',
    expected: '200, five events, one by one',
    curl: curl('app.example.com', '/events', '-N '),
    async run(visitor) {
      const { status, headers, body } = await send(visitor, 'app.example.com', '/events');
      expect(status === 200 && headers['content-type'] === 'text/event-stream', `status ${status}, type ${headers['content-type']}`);
      const count = body.match(/^data: /gm)?.length ?? 0;
      expect(count === 5, `${count} events`);
      return '200, 5 events';
    },
  },
  {
    sent: 'WebSocket wss://app.example.com/',
    expected: 'the message comes back',
    curl: (visitor) =>
      curl(
        'app.example.com',
        '/',
        '-i -N --http1.1 --max-time 2 -H "Connection: Upgrade" -H "Upgrade: websocket" -H "Sec-WebSocket-Version: 13" -H "Sec-WebSocket-Key: cXVpY2tzdGFydHF1aWNrcw==" ',
      )(visitor),
    async run(visitor) {
      const answer = await echo(visitor, 'app.example.com', 'hello');
      expect(answer === 'you said: hello', answer);
      return answer;
    },
  },
  {
    sent: 'gRPC grpc.example.com demo.Greeter/Hello, HelloStream',
    expected: 'one greeting, then three as a stream',
    curl: (visitor) =>
      `printf '\\000\\000\\000\\000\\007\\n\\005world' | ${curl('grpc.example.com', '/demo.Greeter/Hello', '-s --http2 -H "content-type: application/grpc" -H "te: trailers" --data-binary @- -o - ')(visitor)}`,
    async run(visitor) {
      const target = { address: `${visitor.ip}:${visitor.httpsPort}`, host: 'grpc.example.com', ca: visitor.ca };
      const answers = await greet(target, 'world');
      expect(answers.length === 4 && answers[0] === 'Hello, world!', JSON.stringify(answers));
      return answers.join(' ');
    },
  },
  {
    sent: 'GET https://app.example.com/hello, with forged X-Forwarded-For',
    expected: 'see the first request: what the visitor claims is not passed on',
    curl: curl('app.example.com', '/hello', '-H "X-Forwarded-For: 8.8.8.8" '),
    async run(visitor) {
      const { body } = await send(visitor, 'app.example.com', '/hello', {
        headers: { 'x-forwarded-for': '8.8.8.8', 'cf-connecting-ip': '8.8.8.8' },
      });
      const seen = JSON.parse(body) as { headers: Record<string, string> };
      const forged = seen.headers['x-forwarded-for']?.includes('8.8.8.8') || seen.headers['x-real-ip'] === '8.8.8.8';
      expect(
        !forged && seen.headers['x-forwarded-for'] === seen.headers['x-real-ip'],
        `x-forwarded-for is ${seen.headers['x-forwarded-for']}`,
      );
      return `x-forwarded-for: ${seen.headers['x-forwarded-for']}`;
    },
  },
  {
    sent: 'GET https://unknown.example.com/',
    expected: '404: no route has this host',
    curl: curl('unknown.example.com', '/', '-i '),
    async run(visitor) {
      const { status } = await send(visitor, 'unknown.example.com', '/');
      expect(status === 404, `status ${status}`);
      return '404';
    },
  },
];
