// /zones/{zone}/dns_records: single changes, batches and lists.
import { Router, type Request, type Response } from 'express';
import { requireOnZone } from './auth.ts';
import { applyBatch, listRecords, Transaction } from './dns.ts';
import { fault, sendPage, sendResult } from './envelope.ts';
import { timestamp, type ApiToken, type DnsRecord, type State } from './state.ts';

type Body = Readonly<Record<string, unknown>>;
type Params = { readonly zone: string; readonly record: string };

const recordResult = (record: DnsRecord): Body => ({
  ...record,
  proxiable: record.type === 'A' || record.type === 'AAAA' || record.type === 'CNAME',
  settings: {},
  meta: {},
});

export function dnsRoutes(state: State): Router {
  const router = Router({ mergeParams: true });

  const may = (request: Request<Params>, response: Response, permission: 'Read' | 'Edit'): void =>
    requireOnZone(state, response.locals['token'] as ApiToken, request.params.zone, `DNS: ${permission}`);

  const change = <T>(request: Request<Params>, response: Response, work: (transaction: Transaction) => T): T => {
    may(request, response, 'Edit');
    const zone = state.zones.get(request.params.zone);
    if (zone === undefined) throw fault(404, 1001, 'Zone not found');
    const transaction = new Transaction(zone, state.records.get(zone.id) ?? new Map(), timestamp(state));
    const result = work(transaction);
    state.records.set(zone.id, transaction.records);
    return result;
  };
  const body = (request: Request<Params>): Body => request.body as Body;

  router.get('/', (request: Request<Params>, response) => {
    may(request, response, 'Read');
    const found = listRecords(state.records.get(request.params.zone) ?? new Map(), request.query);
    sendPage(request, response, found.map(recordResult), { usual: 100, most: 5000 });
  });

  router.post('/batch', (request: Request<Params>, response) => {
    const changes = change(request, response, (transaction) => applyBatch(transaction, body(request)));
    sendResult(response, Object.fromEntries(Object.entries(changes).map(([kind, records]) => [kind, records.map(recordResult)])));
  });

  router.post('/', (request: Request<Params>, response) => {
    sendResult(response, recordResult(change(request, response, (transaction) => transaction.create(body(request)))));
  });

  router.get('/:record', (request: Request<Params>, response) => {
    may(request, response, 'Read');
    const record = state.records.get(request.params.zone)?.get(request.params.record);
    if (record === undefined) throw fault(404, 81044, 'Record does not exist.');
    sendResult(response, recordResult(record));
  });

  router.put('/:record', (request: Request<Params>, response) => {
    const { record } = request.params;
    sendResult(response, recordResult(change(request, response, (transaction) => transaction.replace(record, body(request)))));
  });

  router.patch('/:record', (request: Request<Params>, response) => {
    const { record } = request.params;
    sendResult(response, recordResult(change(request, response, (transaction) => transaction.edit(record, body(request)))));
  });

  router.delete('/:record', (request: Request<Params>, response) => {
    const { id } = change(request, response, (transaction) => transaction.delete(request.params.record));
    sendResult(response, { id });
  });

  return router;
}
