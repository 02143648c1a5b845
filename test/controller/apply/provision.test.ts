// Tunnels that the controller makes: made once, found again, kept when in doubt, deleted when nobody uses them.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { isSameConnector } from '#controller/output/tunnel-token.ts';
import { nameOf, ProvisionRig, secretOf } from './provision-rig.ts';

const SHOP = 'red/shop';
const BLOG = 'blue/blog';
const connection = {
  id: 'c',
  clientId: 'k',
  clientVersion: '2026.8.2',
  colo: 'fra',
  originIp: '10.0.0.1',
  openedAt: '2026-01-01T00:00:00Z',
};

let rig: ProvisionRig;

beforeEach(async () => {
  rig = await ProvisionRig.start();
});
afterEach(() => rig.close());

const holdsToken = (gateway: string): boolean => {
  const [tunnel, kept] = [rig.tunnel(gateway), rig.secrets.kept.get(secretOf(gateway))];
  return tunnel !== undefined && kept !== undefined && isSameConnector(kept.token, rig.api.connectorToken(tunnel.id));
};

describe('making', () => {
  test('a tunnel for each Gateway, managed remotely, its token in a Secret; nothing more once it is there', async () => {
    await rig.settle(SHOP, BLOG);
    assert.deepEqual([holdsToken(SHOP), holdsToken(BLOG)], [true, true]);
    assert.equal(rig.tunnel(SHOP)?.configSrc, 'cloudflare');
    assert.deepEqual(rig.secrets.kept.get(secretOf(SHOP))?.gateway, SHOP);
    await rig.settle(SHOP, BLOG);
    await rig.tick();
    assert.deepEqual(rig.writes, ['POST', 'POST']);
    assert.equal(rig.provisioner.facts().size, 0);
  });

  test('a creation whose answer is lost is adopted, not repeated', async () => {
    rig.api.before({ method: 'POST' }, () => {
      const { owner } = rig.plan(SHOP);
      rig.api.addTunnel(rig.accountId, { name: nameOf(SHOP), metadata: { ...owner, gateway: SHOP } });
    });
    rig.api.fail({ match: { method: 'POST' }, answer: 'reset' });
    await rig.settle(SHOP);
    assert.equal(rig.fact(SHOP)?.reason, 'Pending');
    await rig.tick();
    assert.ok(holdsToken(SHOP));
    assert.equal(rig.api.tunnels().length, 1);
    assert.equal(rig.fact(SHOP), undefined);
  });

  test('a failure between tunnel and token: the next pass goes on from there', async () => {
    rig.api.fail({ match: { path: /\/token$/ }, answer: 503 });
    await rig.settle(SHOP);
    assert.match(rig.fact(SHOP)?.message ?? '', /Cloudflare failed to read the connector token/);
    await rig.tick();
    assert.ok(holdsToken(SHOP));
    assert.deepEqual(rig.writes, ['POST']);
  });

  test('a Secret that cannot be written is told, and no second tunnel made', async () => {
    rig.secrets.refusal = new Error('secrets is forbidden');
    await rig.settle(SHOP);
    assert.match(rig.fact(SHOP)?.message ?? '', /Secret .* cannot be kept: secrets is forbidden/);
    rig.secrets.refusal = null;
    await rig.tick();
    assert.ok(holdsToken(SHOP));
    assert.deepEqual(rig.writes, ['POST']);
  });

  test('a name that somebody else’s tunnel has: told, left alone, and no obstacle to others', async () => {
    const foreign = rig.api.addTunnel(rig.accountId, { name: nameOf(SHOP) });
    await rig.settle(SHOP, BLOG);
    assert.match(rig.fact(SHOP)?.message ?? '', new RegExp(`TunnelNameTaken.*${foreign.id}.*rename or delete it`));
    assert.ok(holdsToken(BLOG));
    rig.api.deleteTunnel(foreign.id);
    await rig.tick();
    assert.ok(holdsToken(SHOP));
  });

  test('a name that is taken between look and creation is looked at again', async () => {
    rig.api.before({ method: 'POST' }, () => void rig.api.addTunnel(rig.accountId, { name: nameOf(SHOP) }));
    await rig.settle(SHOP);
    await rig.tick();
    assert.match(rig.fact(SHOP)?.message ?? '', /TunnelNameTaken/);
    assert.equal(rig.secrets.kept.size, 0);
  });

  test('a refused API token is told to every Gateway that waits, not to those that have tunnels', async () => {
    await rig.settle(SHOP);
    rig.api.revokeToken(rig.token);
    await rig.settle(SHOP, BLOG);
    assert.equal(rig.fact(SHOP), undefined);
    assert.match(rig.fact(BLOG)?.message ?? '', /API token is not valid/);
    assert.ok(holdsToken(SHOP));
  });

  test('429 is waited for', async () => {
    rig.api.fail({ match: { method: 'POST' }, answer: 429, retryAfter: 60 });
    await rig.settle(SHOP);
    assert.ok((rig.timers.waits[0] ?? 0) >= 60_000);
    await rig.tick();
    assert.ok(holdsToken(SHOP));
  });
});

test('the account’s limit of tunnels: NoResources for those beyond it, in Cloudflare’s words', async () => {
  const small = await ProvisionRig.start({ tunnelLimit: 1 });
  try {
    await small.settle(SHOP, BLOG);
    assert.equal(small.fact(SHOP), undefined);
    assert.equal(small.fact(BLOG)?.reason, 'NoResources');
    assert.match(small.fact(BLOG)?.message ?? '', /limit of tunnels for your account/);
  } finally {
    await small.close();
  }
});

describe('finding again', () => {
  test('after a restart nothing is made anew', async () => {
    await rig.settle(SHOP);
    await rig.restart();
    await rig.settle(SHOP);
    assert.deepEqual(rig.writes, ['POST']);
  });

  test('a deleted Secret is written again with the token of the same tunnel', async () => {
    await rig.settle(SHOP);
    await rig.settle(SHOP);
    const before = rig.tunnel(SHOP)?.id;
    rig.secrets.kept.clear();
    await rig.settle(SHOP);
    assert.ok(holdsToken(SHOP));
    assert.equal(rig.tunnel(SHOP)?.id, before);
    assert.deepEqual(rig.writes, ['POST']);
  });

  test('a tunnel that was deleted at Cloudflare is made again, and the Secret follows', async () => {
    await rig.settle(SHOP);
    await rig.settle(SHOP);
    rig.api.deleteTunnel(rig.tunnel(SHOP)?.id ?? '');
    await rig.tick();
    assert.ok(holdsToken(SHOP));
  });
});

describe('deleting', () => {
  test('the tunnel of a Gateway that is gone goes with its Secret, and no other', async () => {
    const foreign = rig.api.addTunnel(rig.accountId, { name: nameOf('green/hand-made') });
    await rig.settle(SHOP, BLOG);
    await rig.settle(BLOG);
    assert.equal(rig.tunnel(SHOP), undefined);
    assert.deepEqual([...rig.secrets.kept.keys()], [secretOf(BLOG)]);
    assert.ok(holdsToken(BLOG));
    assert.ok(
      rig.api.tunnels().some(({ id }) => id === foreign.id),
      'it has the prefix, but not our notes',
    );
  });

  test('not before its last connection is gone', async () => {
    await rig.settle(SHOP);
    const tunnel = rig.tunnel(SHOP);
    assert.ok(tunnel !== undefined);
    const disconnect = rig.api.authority.connected(tunnel.id, connection);
    await rig.settle();
    await rig.tick();
    assert.ok(rig.tunnel(SHOP) !== undefined);
    assert.ok(!rig.writes.includes('DELETE'), 'not even tried');
    disconnect();
    await rig.tick();
    assert.equal(rig.tunnel(SHOP), undefined);
    assert.equal(rig.secrets.kept.size, 0);
  });

  test('a connector that comes back in between is no harm', async () => {
    await rig.settle(SHOP);
    const id = rig.tunnel(SHOP)?.id ?? '';
    let disconnect = (): void => {};
    rig.api.before({ method: 'DELETE' }, () => void (disconnect = rig.api.authority.connected(id, connection)));
    await rig.settle();
    assert.ok(rig.tunnel(SHOP) !== undefined);
    disconnect();
    await rig.tick();
    assert.equal(rig.tunnel(SHOP), undefined);
  });

  test('a Gateway that a fresh look still finds keeps its tunnel', async () => {
    await rig.settle(SHOP);
    rig.stillThere.add(SHOP);
    await rig.settle();
    assert.ok(holdsToken(SHOP));
    rig.stillThere.clear();
    await rig.tick();
    assert.equal(rig.tunnel(SHOP), undefined);
  });

  test('also where the API keeps no notes: our own record says that we made it', async () => {
    const tunnel = rig.api.addTunnel(rig.accountId, { name: nameOf(SHOP) });
    const record = { secret: secretOf(SHOP), gateway: SHOP, tunnelId: tunnel.id, accountId: rig.accountId };
    await rig.secrets.write(record, rig.api.connectorToken(tunnel.id));
    await rig.settle(SHOP);
    assert.deepEqual(rig.writes, []);
    await rig.settle();
    assert.equal(rig.tunnel(SHOP), undefined);
  });
});
