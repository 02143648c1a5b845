// Is a tunnel document one that Cloudflare would take? The same rules that cloudflared applies when the document reaches it.
import { isIP } from 'node:net';
import { fault } from './envelope.ts';

type Json = Readonly<Record<string, unknown>>;

const invalid = (why: string): Error => fault(400, 1056, `Bad Configuration: Validation failed: ${why}`);

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const wholeSeconds = ['connectTimeout', 'tlsTimeout', 'tcpKeepAlive', 'keepAliveTimeout'];

function checkOriginRequest(value: unknown, where: string): void {
  if (value === undefined) return;
  if (!isObject(value)) throw invalid(`${where}: originRequest must be an object`);
  for (const name of wholeSeconds) {
    const seconds = value[name];
    if (seconds !== undefined && (!Number.isInteger(seconds) || (seconds as number) < 0)) {
      throw invalid(`${where}: ${name} must be a whole number of seconds`);
    }
  }
  const idle = value['keepAliveConnections'];
  if (idle !== undefined && !Number.isInteger(idle)) throw invalid(`${where}: keepAliveConnections must be an integer`);
}

function checkHostname(hostname: string, where: string): void {
  if (hostname.includes(':')) throw invalid(`${where}: Hostname cannot contain a port`);
  const stars = hostname.split('*').length - 1;
  if (stars > 1 || (stars === 1 && !hostname.startsWith('*.'))) {
    throw invalid(`${where}: Hostname patterns can have at most one wildcard character ("*") and it can only be used for subdomains`);
  }
  if (/[^\x21-\x7e\u0080-\u{10ffff}]|[/\\@?#]/u.test(hostname)) throw invalid(`${where}: "${hostname}" is not a hostname`);
}

function checkStatusService(service: string, where: string): void {
  const code = Number(service.slice('http_status:'.length));
  if (!Number.isInteger(code) || code < 100 || code > 999) throw invalid(`${where}: "${service}" is not a valid HTTP status service`);
}

const plainServices = new Set(['hello_world', 'hello-world', 'bastion', 'socks-proxy']);

function checkService(service: string, where: string): void {
  if (service.startsWith('http_status:')) return checkStatusService(service, where);
  if (plainServices.has(service) || service.startsWith('unix:/') || service.startsWith('unix+tls:/')) return;
  const parts = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-fA-F:.]+\]|[^/:?#\s]+)(?::(\d{1,5}))?([/?#].*)?$/.exec(service);
  if (parts === null) throw invalid(`${where}: ${service} is an invalid address, please make sure it has a scheme and a hostname`);
  const [, , host, port, rest] = parts;
  if (host?.startsWith('[') === true && isIP(host.slice(1, -1)) !== 6) throw invalid(`${where}: ${service} is an invalid address`);
  if (port !== undefined && Number(port) > 65535) throw invalid(`${where}: ${service} is an invalid address`);
  if (rest !== undefined) {
    throw invalid(`${where}: ${service} is an invalid address, ingress rules don't support proxying to a different path on the origin`);
  }
}

function checkPath(path: string, where: string): void {
  // RE2 has neither look-around nor back-references; the rest of its syntax is close enough to judge with the engine at hand.
  if (/\(\?[=!<]|\\[1-9]/.test(path)) throw invalid(`${where}: path has a syntax that RE2 does not know`);
  try {
    void new RegExp(path);
  } catch {
    throw invalid(`${where}: path is not a valid regular expression`);
  }
}

function checkRule(rule: unknown, index: number, isLast: boolean): void {
  const where = `Rule #${index + 1}`;
  if (!isObject(rule)) throw invalid(`${where} must be an object`);
  const { hostname = '', path = '', service } = rule;
  if (typeof hostname !== 'string' || typeof path !== 'string') throw invalid(`${where}: hostname and path must be strings`);
  if (typeof service !== 'string') throw invalid(`${where}: service is required`);
  const everyHost = hostname === '' || hostname === '*';
  const matchesAll = everyHost && path === '';
  if (!everyHost) checkHostname(hostname, where);
  if (path !== '') checkPath(path, where);
  checkService(service, where);
  checkOriginRequest(rule['originRequest'], where);
  if (isLast && !matchesAll) {
    throw invalid('The last ingress rule must match all URLs (i.e. it should not have a hostname or path filter)');
  }
  if (!isLast && matchesAll) throw invalid(`${where} matches every hostname, so the rules after it would never be used`);
}

/** Throws the API's 1056 when the document is not valid; otherwise gives it as the API stores it. */
export function validDocument(config: unknown, ruleLimit: number): Json {
  if (!isObject(config)) throw invalid('config must be an object');
  const ingress = config['ingress'] ?? [];
  if (!Array.isArray(ingress)) throw invalid('ingress must be a list');
  if (ingress.length > ruleLimit)
    throw invalid(`a configuration may have at most ${ruleLimit} ingress rules, this one has ${ingress.length}`);
  ingress.forEach((rule, index) => checkRule(rule, index, index === ingress.length - 1));
  checkOriginRequest(config['originRequest'], 'The configuration');
  return { 'warp-routing': { enabled: false }, ...structuredClone(config) };
}
