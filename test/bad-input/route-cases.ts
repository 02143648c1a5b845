// Routes that are well-formed and nonsense: expressions, limits, filters, redirects, names.
import { backend, closed, refused, repeat, served, type Case } from './case.ts';
import * as o from './objects.ts';

const path = (value: string, type = 'PathPrefix'): o.Fields => ({ matches: [{ path: { type, value } }] });
const expression = (name: string, value: string): o.Fields => o.rule(name, path(value, 'RegularExpression'));
const filter = (name: string, type: string, payload: o.Fields): o.Fields =>
  o.rule(name, { filters: [{ type, [type === 'URLRewrite' ? 'urlRewrite' : `${type[0]?.toLowerCase()}${type.slice(1)}`]: payload }] });
const redirect = (name: string, payload: o.Fields): o.Fields =>
  o.httpRoute(name, { rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: payload }] }] });
const hostname = (name: string, ...hostnames: readonly string[]): o.Fields => o.httpRoute(name, { hostnames });

const HOSTNAME = /spec\.hostnames\[0\]: must be a host name in lower case, without port; only its first part may be \*/;
const LONG_NAME = ['a', 'b', 'c', 'd'].map((letter, index) => letter.repeat(index < 3 ? 63 : 61)).join('.');

/** By name of the file and of the host. */
export const routeCases: Readonly<Record<string, Case>> = {
  // Regular expressions
  'open-group': closed(
    expression('open-group', '/('),
    /matches\[0\]\.path\.value: pattern "\/\(" is not a usable RE2 expression: missing closing \)/,
    404,
  ),
  lookahead: closed(expression('lookahead', '/(?=x)'), /matches\[0\]\.path\.value: .*invalid or unsupported Perl syntax/, 404),
  backreference: closed(expression('backreference', String.raw`/(a)\1`), /matches\[0\]\.path\.value: .*invalid escape sequence/, 404),
  explosion: closed(
    expression('explosion', '/((a{100}){100}){10}'),
    /matches\[0\]\.path\.value: .*very large program; shorten it or lower its/,
    404,
  ),
  unicode: closed(
    expression('unicode', `/${String.raw`[\p{L}\p{N}]{1,50}`.repeat(20)}`),
    /matches\[0\]\.path\.value: .*very large program/,
    404,
  ),
  counts: closed(expression('counts', '/a{1001}'), /matches\[0\]\.path\.value: .*invalid repeat count/, 404),
  hostile: served(expression('hostile', '/(x+x+)+y'.repeat(100)), 404),
  'sixteen-headers': served(
    o.rule('sixteen-headers', {
      matches: [{ headers: repeat(16, (index) => ({ name: `h${index}`, type: 'RegularExpression', value: '(a|b|ab)+x{1,50}$' })) }],
    }),
    404,
  ),
  // Limits and forms of rules
  'seventeen-headers': refused(
    o.rule('x', { matches: [{ headers: repeat(17, (index) => ({ name: `h${index}`, value: 'x' })) }] }),
    /headers: has 17 items, at most 16/,
  ),
  'seventeen-rules': refused(o.httpRoute('x', { rules: repeat(17, () => ({})) }), /spec\.rules: has 17 items, at most 16/),
  'many-matches': refused(o.rule('x', { matches: repeat(65, () => ({})) }), /matches: has 65 items, at most 64/),
  'many-parents': refused(
    o.httpRoute('x', { parentRefs: repeat(33, (index) => ({ name: `g${index}` })) }),
    /spec\.parentRefs: has 33 items, at most 32/,
  ),
  'same-parent': refused(
    o.httpRoute('x', { parentRefs: [{ name: 'good' }, { name: 'good' }] }),
    /spec\.parentRefs: sectionName or port must be unique/,
  ),
  'header-name': refused(o.rule('x', { matches: [{ headers: [{ name: 'a b', value: 'x' }] }] }), /headers\[0\]\.name: must/),
  'header-injection': refused(
    filter('x', 'RequestHeaderModifier', { set: [{ name: 'x', value: 'a\r\nEvil: 1' }] }),
    /set\[0\]\.value: must/,
  ),
  'framing-header': closed(
    filter('framing-header', 'RequestHeaderModifier', { remove: ['transfer-encoding'] }),
    /filters\[0\]\.requestHeaderModifier\.remove\[0\]: header "transfer-encoding" cannot be modified/,
  ),
  'path-blank': refused(o.rule('x', path('/a b')), /path: must only contain valid characters/),
  'path-dots': refused(o.rule('x', path('/a/../b')), /path: must not contain '\/\.\.\/'/),
  'path-long': refused(o.rule('x', path(`/${'a'.repeat(1024)}`)), /path\.value: must have at most 1024 characters, has 1025/),
  method: refused(o.rule('x', { matches: [{ method: 'FROB' }] }), /method: must be one of "GET".*not "FROB"/),
  'weight-largest': served(
    o.httpRoute('weight-largest', { rules: [{ backendRefs: repeat(16, () => ({ name: 'good', port: 80, weight: 1_000_000 })) }] }),
  ),
  'weight-negative': refused(backend('x', { weight: -1 }), /backendRefs\[0\]\.weight: must be at least 0, not -1/),
  'weight-beyond': refused(backend('x', { weight: 1_000_001 }), /backendRefs\[0\]\.weight: must be at most 1000000, not 1000001/),
  'timeout-negative': refused(o.rule('x', { timeouts: { request: '-5s' } }), /timeouts\.request: must be a duration .* not "-5s"/),
  'timeout-contrary': refused(
    o.rule('x', { timeouts: { request: '1s', backendRequest: '2s' } }),
    /timeouts: backendRequest timeout cannot be longer/,
  ),
  'timeout-longest': served(o.rule('timeout-longest', { timeouts: { request: '99999h99999h', backendRequest: '99999h' } })),
  // Redirects that lead nowhere
  'redirect-self': served(redirect('redirect-self', { hostname: 'redirect-self.example.com' }), 302),
  'redirect-ping': served(redirect('redirect-ping', { hostname: 'redirect-pong.example.com' }), 302),
  'redirect-pong': served(redirect('redirect-pong', { hostname: 'redirect-ping.example.com' }), 302),
  'redirect-injection': closed(
    redirect('redirect-injection', { path: { type: 'ReplaceFullPath', replaceFullPath: '/\r\nX: y' } }),
    /filters\[0\]\.requestRedirect\.path\.\w+: path "\/\\r\\nX: y" must consist of URL path characters/,
  ),
  'rewrite-injection': closed(
    filter('rewrite-injection', 'URLRewrite', { path: { type: 'ReplaceFullPath', replaceFullPath: '/ HTTP/1.1\r\nX: y' } }),
    /filters\[0\]\.urlRewrite\.path\.\w+: path .* must consist of URL path characters/,
  ),
  // Names
  'name-longest': {
    objects: [o.httpRoute(LONG_NAME, { hostnames: ['name-longest.example.com'], rules: [{ backendRefs: [{ name: 'good', port: 80 }] }] })],
    conditions: { Accepted: /^True/ },
    answer: 200,
  },
  'labels-longest': served(
    o.httpRoute(
      'labels-longest',
      { rules: [{ backendRefs: [{ name: 'good', port: 80 }] }] },
      {
        labels: Object.fromEntries(
          repeat(300, (index) => [`${'p'.repeat(60)}.${'q'.repeat(60)}.io/${'k'.repeat(58)}${10_000 + index}`, 'v'.repeat(63)]),
        ),
        annotations: { a: 'x'.repeat(250_000) },
      },
    ),
  ),
  'annotations-beyond': refused(
    o.httpRoute('x', {}, { annotations: { a: 'x'.repeat(300_000) } }),
    /metadata\.annotations: have 300001 characters together, at most 262144/,
  ),
  'host-upper-case': refused(hostname('x', 'UPPER.example.com'), HOSTNAME),
  'host-trailing-dot': refused(hostname('x', 'dot.example.com.'), HOSTNAME),
  'host-international': refused(hostname('x', 'bücher.example.com'), HOSTNAME),
  'host-ipv6': refused(hostname('x', '::1'), HOSTNAME),
  'host-inner-wildcard': refused(hostname('x', 'a.*.example.com'), HOSTNAME),
  'host-wildcard': refused(hostname('x', '*'), HOSTNAME),
  'host-port': refused(hostname('x', 'a.example.com:80'), HOSTNAME),
  'host-empty': refused(hostname('x', ''), HOSTNAME),
  'host-beyond': refused(hostname('x', `${LONG_NAME}x`), /spec\.hostnames\[0\]: must have at most 253 characters, has 254/),
  'hosts-beyond': refused(hostname('x', ...repeat(17, (index) => `h${index}.example.com`)), /spec\.hostnames: has 17 items, at most 16/),
  'host-longest': { objects: [hostname('host-longest', LONG_NAME, 'xn--bcher-kva.example.com')], conditions: { Accepted: /^True/ } },
  'host-label': {
    objects: [hostname('host-label', `${'h'.repeat(64)}.example.com`)],
    conditions: {
      Accepted: /^False UnsupportedValue: spec\.hostnames: h{64}\.example\.com cannot be the host of a visitor: write a DNS name/,
    },
  },
  'host-address': {
    objects: [hostname('host-address', 'fine.example.com', '10.0.0.1')],
    conditions: { Accepted: /^False UnsupportedValue: spec\.hostnames: 10\.0\.0\.1 cannot be the host of a visitor/ },
  },
  'filter-unknown': closed(
    filter('filter-unknown', 'ExtensionRef', { group: 'x.io', kind: 'Y', name: 'z' }),
    /filters\[0\]\.type: filter ExtensionRef is not available in this version; remove it/,
  ),
};
