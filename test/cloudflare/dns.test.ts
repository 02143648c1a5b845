// The DNS server: names of tunnels, records, chains, and packets that are no queries.
import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { describe, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { answerQuery, startDns, type DnsRecord } from './dns.ts';

const TUNNEL = '11111111-2222-4333-8444-555555555555';
const NAMES: Readonly<Record<string, readonly DnsRecord[]>> = {
  'a.test': [
    { type: 'A', address: '192.0.2.1' },
    { type: 'A', address: '192.0.2.2' },
    { type: 'AAAA', address: '2001:db8::1:0' },
  ],
  'alias.test': [{ type: 'CNAME', target: 'A.test.' }],
  'app.test': [{ type: 'CNAME', target: `${TUNNEL}.cfargotunnel.com`, proxied: true }],
  'dangling.test': [{ type: 'CNAME', target: 'nowhere.test' }],
  'dangling-proxied.test': [{ type: 'CNAME', target: 'nowhere.test', proxied: true }],
  'loop.test': [{ type: 'CNAME', target: 'loop.test' }],
  'loop-proxied.test': [{ type: 'CNAME', target: 'loop-proxied.test', proxied: true }],
  'empty.test': [],
  'many.test': Array.from({ length: 60 }, (_, i) => ({ type: 'A' as const, address: `192.0.2.${i}` })),
};
const OPTIONS = {
  tunnel: (id: string) => (id === TUNNEL ? '127.77.1.1' : undefined),
  records: (name: string) => (Object.hasOwn(NAMES, name) ? NAMES[name] : undefined),
};

async function start(t: TestContext): Promise<{ readonly resolver: Resolver; readonly port: number }> {
  const server = await startDns(OPTIONS);
  t.after(() => server.close());
  const resolver = new Resolver({ timeout: 2000, tries: 1 });
  resolver.setServers([`${server.host}:${server.port}`]);
  return { resolver, port: server.port };
}

describe('dns', () => {
  test('what resolvers ask', async (t) => {
    const { resolver } = await start(t);
    assert.deepEqual(await resolver.resolve4(`${TUNNEL}.cfargotunnel.com`), ['127.77.1.1']);
    assert.deepEqual(await resolver.resolve4('A.Test'), ['192.0.2.1', '192.0.2.2']);
    assert.deepEqual(await resolver.resolve6('a.test'), ['2001:db8::1:0']);
    assert.deepEqual(await resolver.resolve4('alias.test'), ['192.0.2.1', '192.0.2.2']);
    assert.deepEqual(await resolver.resolveCname('alias.test'), ['A.test']);
    // A proxied record shows addresses, not where it leads.
    assert.deepEqual(await resolver.resolve4('app.test'), ['127.77.1.1']);
    await assert.rejects(resolver.resolveCname('app.test'), { code: 'ENODATA' });
    for (const name of ['unknown.test', 'dangling.test', '99999999-2222-4333-8444-555555555555.cfargotunnel.com', 'cfargotunnel.com']) {
      await assert.rejects(resolver.resolve4(name), { code: 'ENOTFOUND' }, name);
    }
    await assert.rejects(resolver.resolve6(`${TUNNEL}.cfargotunnel.com`), { code: 'ENODATA' });
    // A chain in a circle is answered with the part of it that was walked.
    assert.deepEqual(await resolver.resolve4('loop.test'), []);
    for (const name of ['empty.test', 'dangling-proxied.test', 'loop-proxied.test']) {
      await assert.rejects(resolver.resolve4(name), { code: 'ENODATA' }, name);
    }
  });

  test('an answer that does not fit says so', () => {
    const response = answerQuery(query('many.test'), OPTIONS);
    assert.ok(response);
    assert.equal(response.readUInt16BE(2) & 0x0200, 0x0200);
    assert.ok(response.length <= 512);
  });

  test('other operations and classes', () => {
    const status = query('a.test');
    status.writeUInt16BE(0x1000, 2);
    assert.equal((answerQuery(status, OPTIONS)?.readUInt16BE(2) ?? 0) & 0xf, 4);
    const chaos = query('a.test');
    chaos.writeUInt16BE(3, chaos.length - 2);
    assert.equal(answerQuery(chaos, OPTIONS)?.readUInt16BE(6), 0);
  });

  const noQueries: readonly (readonly [string, (packet: Buffer) => Buffer])[] = [
    ['nothing', () => Buffer.alloc(0)],
    ['a header alone', (packet) => packet.subarray(0, 12)],
    ['a cut name', (packet) => packet.subarray(0, 15)],
    ['a cut question', (packet) => packet.subarray(0, packet.length - 1)],
    ['a response', (packet) => Buffer.concat([packet.subarray(0, 2), Buffer.from([0x81]), packet.subarray(3)])],
    ['two questions', (packet) => Buffer.concat([packet.subarray(0, 5), Buffer.from([2]), packet.subarray(6)])],
    ['a compressed name that leads to itself', (packet) => Buffer.concat([packet.subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])])],
    ['a label of 64 bytes', (packet) => Buffer.concat([packet.subarray(0, 12), Buffer.from([64]), Buffer.alloc(80)])],
    ['a name of 400 bytes', (packet) => Buffer.concat([packet.subarray(0, 12), Buffer.alloc(400, '\u0001a'), Buffer.alloc(5)])],
  ];
  for (const [name, damage] of noQueries) {
    test(`${name}: no answer`, () => assert.equal(answerQuery(damage(query('a.test')), OPTIONS), null));
  }

  test('random packets never throw, and the server goes on', async (t) => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), (packet) => void answerQuery(Buffer.from(packet), OPTIONS)));
    const { resolver, port } = await start(t);
    const socket = dgram.createSocket('udp4');
    for (const packet of ['', 'x', 'x'.repeat(1000)]) socket.send(packet, port, '127.0.0.1');
    const closed = once(socket, 'close');
    socket.close();
    await closed;
    assert.deepEqual(await resolver.resolve4('app.test'), ['127.77.1.1']);
  });
});

function query(name: string): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(0x1234, 0);
  header.writeUInt16BE(0x0100, 2);
  header.writeUInt16BE(1, 4);
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`));
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, 1, 0, 1])]);
}
