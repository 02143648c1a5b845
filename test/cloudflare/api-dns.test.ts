// DNS records of the API double, and what they make of a hostname.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startCloudflareApi, type CloudflareApiDouble } from '#test/cloudflare/api/server.ts';
import { all, clientFor, refused } from '#test/cloudflare/api/testing.ts';

let api: CloudflareApiDouble;
let accountId: string;

before(async () => {
  api = await startCloudflareApi();
  accountId = api.addAccount({ name: 'Example' }).id;
});
after(() => api.close());

describe('DNS', () => {
  test('records: names, neighbours, filters', async () => {
    const { id: zone_id } = api.addZone(accountId, 'example.com');
    const { records } = clientFor(api).dns;
    const cname = { zone_id, type: 'CNAME', ttl: 1 } as const;
    const made = await records.create({ ...cname, name: 'www', content: 't.cfargotunnel.com', proxied: true, comment: 'ours' });
    assert.equal(made.name, 'www.example.com');
    await refused(records.create({ zone_id, type: 'A', ttl: 1, name: 'www', content: '192.0.2.1' }), 400, 81054);
    await refused(records.create({ ...cname, name: 'www', content: 'x.example.com' }), 400, 81053);
    await refused(records.create({ ...cname, name: 'www', content: 't.cfargotunnel.com' }), 400, 81058);
    await refused(records.create({ zone_id, type: 'A', ttl: 1, name: 'a', content: 'not an address' }), 400, 9005);
    await records.create({ zone_id, type: 'A', ttl: 60, name: '@', content: '192.0.2.1' });
    await records.create({ zone_id, type: 'TXT', ttl: 60, name: 'www', content: '"hello"' });
    const listed = async (filter: object) => (await all(records.list({ zone_id, ...filter }))).map(({ type }) => type);
    assert.deepEqual(await listed({ order: 'type' }), ['A', 'CNAME', 'TXT']);
    assert.deepEqual(await listed({ name: { exact: 'www.example.com' }, order: 'type', direction: 'desc' }), ['TXT', 'CNAME']);
    assert.deepEqual(await listed({ comment: { exact: 'ours' } }), ['CNAME']);
    assert.deepEqual(await listed({ comment: { absent: 'true' }, type: 'A' }), ['A']);
    assert.deepEqual(await listed({ content: { endswith: '.cfargotunnel.com' }, type: 'A', match: 'any', order: 'type' }), ['A', 'CNAME']);
    const edited = await records.edit(made.id, { ...cname, name: 'www', comment: 'still ours' });
    assert.equal(edited.comment, 'still ours');
    await records.delete(made.id, { zone_id });
    await refused(records.get(made.id, { zone_id }), 404, 81044);
    await refused(clientFor(api, { name: 'reader', permissions: ['DNS: Read'] }).dns.records.delete(made.id, { zone_id }), 403, 10000);
  });

  test('a batch is one transaction, deletes first', async () => {
    const { id: zone_id } = api.addZone(accountId, 'example.net');
    const { records } = clientFor(api).dns;
    const old = api.addRecord(zone_id, { type: 'A', name: 'www', content: '192.0.2.1' });
    const post = { type: 'CNAME', ttl: 1, name: 'www', content: 't.example.net', proxied: true } as const;
    await refused(records.batch({ zone_id, posts: [post] }), 400, 81053);
    await refused(records.batch({ zone_id, deletes: [{ id: old.id }], posts: [post, { ...post, content: 'u.example.net' }] }), 400, 81053);
    assert.deepEqual(
      api.records(zone_id).map(({ id }) => id),
      [old.id],
    );
    const done = await records.batch({ zone_id, posts: [post], deletes: [{ id: old.id }] });
    assert.deepEqual([done.deletes?.length, done.posts?.length], [1, 1]);
    assert.deepEqual(
      api.records(zone_id).map(({ type }) => type),
      ['CNAME'],
    );
  });

  test('a hostname leads to a tunnel through a proxied CNAME of the same account', () => {
    const zone = api.addZone(accountId, 'example.org').id;
    const foreign = api.addAccount({ name: 'Other' }).id;
    const mine = api.addTunnel(accountId, { name: 'mine' }).id;
    const theirs = api.addTunnel(foreign, { name: 'theirs' }).id;
    const cname = (name: string, tunnel: string, proxied = true) =>
      api.addRecord(zone, { type: 'CNAME', name, content: `${tunnel}.cfargotunnel.com`, proxied });
    cname('app', mine);
    cname('*', mine);
    cname('theirs', theirs);
    cname('grey', mine, false);
    api.addRecord(zone, { type: 'A', name: 'plain', content: '192.0.2.1' });
    const resolve = (hostname: string) => api.authority.resolve(hostname);
    assert.equal(resolve('app.example.org'), mine);
    assert.equal(resolve('APP.example.org.'), mine);
    assert.equal(resolve('deep.down.example.org'), mine);
    assert.equal(resolve('example.org'), undefined);
    assert.equal(resolve('theirs.example.org'), undefined);
    assert.equal(resolve('grey.example.org'), undefined);
    assert.equal(resolve('plain.example.org'), undefined);
    assert.equal(resolve('app.example.edu'), undefined);
    api.deleteTunnel(mine);
    assert.equal(resolve('app.example.org'), undefined);
  });
});
