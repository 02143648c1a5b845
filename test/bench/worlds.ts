// What the bench compares: the same routing table and the same header edits, as an nginx configuration and as ours.
import type { ConfigItem, RuleConfig } from '#proxy/config/schema.ts';

export const HOST = 'svc7.example.com';
export const PATH = '/api/v7/users/42/orders?limit=20&cursor=abc';
const RULES_PER_HOST = 10;

const prefixes = Array.from({ length: RULES_PER_HOST }, (_, i) => (i === 0 ? '/' : `/api/v${i}`));
const hostnames = (rules: number): string[] =>
  Array.from({ length: Math.ceil(rules / RULES_PER_HOST) }, (_, i) => `svc${i === 0 ? 7 : i === 7 ? 0 : i}.example.com`);

/** `rules` rules, ten for each host; each sets two headers and removes one, and does the same to the response. */
export function ourItems(rules: number, entryPort: number, backendPort: number): ConfigItem[] {
  const backend = 'Service/bench/app:80/http1';
  const ruleFor = (host: string, prefix: string): RuleConfig => ({
    matches: [{ path: { type: 'PathPrefix', value: prefix } }],
    filters: [
      {
        type: 'RequestHeaderModifier',
        modifier: {
          set: [
            { name: 'x-route', value: `${host}${prefix}` },
            { name: 'x-proxy', value: 'p' },
          ],
          remove: ['x-remove-me'],
        },
      },
      { type: 'ResponseHeaderModifier', modifier: { set: [{ name: 'x-resp', value: 'yes' }], remove: ['x-internal'] } },
    ],
    backends: [{ backend, weight: 1 }],
  });
  const routes = hostnames(rules).map((host, i): ConfigItem => ({
    kind: 'route',
    id: `HTTPRoute/bench/r${i}`,
    type: 'HTTP',
    namespace: 'bench',
    name: `r${i}`,
    created: '2026-01-01T00:00:00Z',
    attachments: [{ entry: 'bench', listener: 'Gateway/bench/g/https', hostnames: [host] }],
    rules: prefixes.map((prefix) => ruleFor(host, prefix)),
  }));
  return [
    { kind: 'entry', id: 'bench', port: entryPort, listeners: [{ id: 'Gateway/bench/g/https', protocol: 'HTTPS', port: 443 }] },
    { kind: 'backend', id: backend, name: 'bench/app:80', protocol: 'http1', endpoints: [`127.0.0.1:${backendPort}`] },
    ...routes,
  ];
}

const common = (dir: string, name: string): string => `
worker_processes 1; daemon off; pid ${dir}/${name}.pid; error_log ${dir}/${name}.err warn;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; tcp_nodelay on; default_type text/plain;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${dir}/${name}-${kind};`).join(' ')}
server_names_hash_bucket_size 128; server_names_hash_max_size 16384;
`;

/** 1 KiB and nine header fields, as an application might answer. */
export const backendConf = (dir: string, port: number): string => `${common(dir, 'backend')}
server { listen 127.0.0.1:${port} backlog=2048; location / {
  add_header cache-control "private, max-age=0"; add_header etag '"33a64df551425fcc55e4d42a148795d9f25f89d4"'; add_header x-request-id "4f3f8c6e-0b1e-4d5a-9d2b-8b7f0c1d2e3f";
  add_header vary "accept-encoding"; add_header x-internal "secret"; return 200 "${'x'.repeat(1024)}"; } } }
`;

export function nginxConf(dir: string, rules: number, port: number, backendPort: number): string {
  const location = (
    host: string,
    prefix: string,
  ): string => `location ${prefix === '/' ? '/' : `${prefix}/`} { proxy_pass http://up; proxy_http_version 1.1;
proxy_set_header Connection ""; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto https;
proxy_set_header X-Route ${host}${prefix}; proxy_set_header X-Proxy p; proxy_set_header X-Remove-Me ""; proxy_hide_header X-Internal; add_header X-Resp yes; }`;
  const servers = hostnames(rules).map(
    (host) => `server { listen 127.0.0.1:${port}; server_name ${host};\n${prefixes.map((prefix) => location(host, prefix)).join('\n')}\n}`,
  );
  return `${common(dir, 'nginx')}upstream up { server 127.0.0.1:${backendPort}; keepalive 256; keepalive_requests 1000000000; }\n${servers.join('\n')}\n}`;
}

/** What cloudflared sends of a browser's request, and how wrk reports. */
export const wrkScript = `
wrk.path = "${PATH}"
for name, value in pairs({ Host = "${HOST}", ["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
  Accept = "application/json, text/plain, */*", ["Accept-Encoding"] = "gzip, br", ["Accept-Language"] = "en-US,en;q=0.9", Cookie = "session=0123456789abcdef0123456789abcdef; theme=dark",
  ["Cf-Connecting-Ip"] = "203.0.113.7", ["Cf-Ray"] = "8f0123456789abcd-FRA", ["Cf-Visitor"] = "{\\"scheme\\":\\"https\\"}", ["X-Forwarded-For"] = "203.0.113.7",
  ["X-Forwarded-Proto"] = "https", ["X-Remove-Me"] = "1" }) do wrk.headers[name] = value end
done = function(s, l)
  io.write(string.format("RESULT %d %d %d %d\\n", s.requests, l:percentile(50), l:percentile(99), s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout + s.errors.status))
end
`;
