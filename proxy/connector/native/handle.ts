// Decides what answers a request of the edge: an origin, a fixed status, or the connector itself because it cannot.
import type { ServerHttp2Stream } from 'node:http2';
import type { ConnectorLog } from '../connector.ts';
import { failRequest, respondStatus } from './answers.ts';
import { exchange } from './exchange.ts';
import { readTunnelRequest, type TunnelRequest } from './heads.ts';
import { findRule, type TunnelDocument } from './ingress.ts';
import type { OriginPools } from './origins.ts';
import { upgrade } from './upgrade.ts';

export interface RequestContext {
  readonly document: TunnelDocument;
  readonly origins: OriginPools;
  readonly log: ConnectorLog;
}

/** `raw` is the flat header list of the stream. */
export function handleRequest(stream: ServerHttp2Stream, raw: readonly string[], context: RequestContext): void {
  const request = readTunnelRequest(raw);
  if (request.isTcp) return failRequest(stream);
  const { service } = findRule(context.document, request.authority, request.target);
  switch (service.kind) {
    case 'status':
      return respondStatus(stream, service.status);
    case 'unsupported':
      return failRequest(stream);
    case 'http': {
      const origin = { service, agent: context.origins.agent(service), onFailure: (error: Error) => report(context, request, error) };
      if (request.isWebSocket) upgrade(stream, request, origin);
      else exchange(stream, request, origin);
    }
  }
}

function report(context: RequestContext, request: TunnelRequest, error: Error): void {
  context.log.warn({ host: request.authority, error: error.message }, 'unable to reach the origin of a request');
}
