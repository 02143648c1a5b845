// Filters of routes → filters of the proxy. What cannot be carried out closes the rule: a filter that is left out silently may be a guard.
import * as cause from '../api/cause-route.ts';
import type { HTTPHeaderFilter, HTTPPathModifier, RouteFilter } from '../api/gateway.ts';
import type { FilterConfig, HeaderModifier, PathModifier } from '#proxy/config/schema.ts';

export type Converted = { readonly filter: FilterConfig } | { readonly problem: string };

/** Names of the payload of each filter, which is also the field by which messages point into it. */
export const PAYLOAD: Readonly<Record<string, string>> = {
  RequestHeaderModifier: 'requestHeaderModifier',
  ResponseHeaderModifier: 'responseHeaderModifier',
  RequestRedirect: 'requestRedirect',
  URLRewrite: 'urlRewrite',
};

const SUPPORTED: Readonly<Record<'HTTP' | 'GRPC', readonly string[]>> = {
  HTTP: Object.keys(PAYLOAD),
  GRPC: ['RequestHeaderModifier', 'ResponseHeaderModifier'],
};

const STATUS_CODES = [301, 302, 303, 307, 308] as const;

/** `field` is where the filter stands, below `spec`. */
export function convertFilter(type: 'HTTP' | 'GRPC', filter: RouteFilter, field: string): Converted {
  if (!SUPPORTED[type].includes(filter.type)) return { problem: cause.filterUnsupported(`${field}.type`, filter.type) };
  const at = `${field}.${PAYLOAD[filter.type]}`;
  switch (filter.type) {
    case 'RequestHeaderModifier':
    case 'ResponseHeaderModifier': {
      const modifier = filter.type === 'RequestHeaderModifier' ? filter.requestHeaderModifier : filter.responseHeaderModifier;
      return modifier === undefined ? { problem: cause.fieldMissing(at) } : { filter: { type: filter.type, modifier: headers(modifier) } };
    }
    case 'RequestRedirect':
      return filter.requestRedirect === undefined ? { problem: cause.fieldMissing(at) } : redirect(filter.requestRedirect, at);
    default:
      return filter.urlRewrite === undefined ? { problem: cause.fieldMissing(at) } : rewrite(filter.urlRewrite, at);
  }
}

/** Of entries with the same name, however written, only the first counts. */
const distinct = <T>(entries: readonly T[], nameOf: (entry: T) => string): T[] => {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    const name = nameOf(entry).toLowerCase();
    return !seen.has(name) && seen.add(name) !== undefined;
  });
};

const pairs = (entries: HTTPHeaderFilter['set']): { name: string; value: string }[] | undefined =>
  entries && distinct(entries, ({ name }) => name).map(({ name, value }) => ({ name, value }));

function headers({ set, add, remove }: HTTPHeaderFilter): HeaderModifier {
  return {
    ...(set === undefined ? {} : { set: pairs(set) }),
    ...(add === undefined ? {} : { add: pairs(add) }),
    ...(remove === undefined ? {} : { remove: distinct(remove, (name) => name) }),
  };
}

function path(modifier: HTTPPathModifier, field: string): PathModifier | { readonly problem: string } {
  const { type, replaceFullPath, replacePrefixMatch } = modifier;
  if (type === 'ReplaceFullPath') {
    return replaceFullPath === undefined ? { problem: cause.fieldMissing(`${field}.replaceFullPath`) } : { type, value: replaceFullPath };
  }
  if (type === 'ReplacePrefixMatch') {
    return replacePrefixMatch === undefined
      ? { problem: cause.fieldMissing(`${field}.replacePrefixMatch`) }
      : { type, value: replacePrefixMatch };
  }
  return { problem: cause.valueUnsupported(`${field}.type`, type, ['ReplaceFullPath', 'ReplacePrefixMatch']) };
}

function redirect(spec: NonNullable<RouteFilter['requestRedirect']>, field: string): Converted {
  const { scheme, hostname, port } = spec;
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') {
    return { problem: cause.valueUnsupported(`${field}.scheme`, scheme, ['http', 'https']) };
  }
  const statusCode = STATUS_CODES.find((code) => code === (spec.statusCode ?? 302));
  if (statusCode === undefined) {
    return { problem: cause.valueUnsupported(`${field}.statusCode`, String(spec.statusCode), STATUS_CODES.map(String)) };
  }
  const edit = spec.path === undefined ? undefined : path(spec.path, `${field}.path`);
  if (edit !== undefined && 'problem' in edit) return edit;
  return {
    filter: {
      type: 'RequestRedirect',
      ...(scheme === undefined ? {} : { scheme }),
      ...(hostname === undefined ? {} : { hostname }),
      ...(port === undefined ? {} : { port }),
      ...(edit === undefined ? {} : { path: edit }),
      statusCode,
    },
  };
}

function rewrite(spec: NonNullable<RouteFilter['urlRewrite']>, field: string): Converted {
  const edit = spec.path === undefined ? undefined : path(spec.path, `${field}.path`);
  if (edit !== undefined && 'problem' in edit) return edit;
  return {
    filter: {
      type: 'URLRewrite',
      ...(spec.hostname === undefined ? {} : { hostname: spec.hostname }),
      ...(edit === undefined ? {} : { path: edit }),
    },
  };
}
