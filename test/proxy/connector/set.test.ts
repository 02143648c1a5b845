// Switching connectors: a new token or protocol starts a second one, and the first ends only when the second is connected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connector, ConnectorPhase, ConnectorState } from '#proxy/connector/connector.ts';
import { ConnectorSet } from '#proxy/connector/set.ts';
import type { WantedTunnel } from '#proxy/connector/set.ts';

/** Says of itself what the test wants; like the real ones it tells of its draining at once. */
class Scripted implements Connector {
  state: ConnectorState = { phase: 'starting', connections: 0, configVersion: -1, error: null };
  readonly wanted: WantedTunnel;
  #listeners: ((state: ConnectorState) => void)[] = [];

  constructor(wanted: WantedTunnel) {
    this.wanted = wanted;
  }

  start(): void {}

  onState(listener: (state: ConnectorState) => void): () => void {
    this.#listeners.push(listener);
    return () => {};
  }

  become(phase: ConnectorPhase): void {
    this.state = { ...this.state, phase };
    for (const listener of this.#listeners) listener(this.state);
  }

  drain(): Promise<void> {
    this.become('draining');
    return Promise.resolve().then(() => this.become('stopped'));
  }

  stop(): Promise<void> {
    return this.drain();
  }
}

function rig() {
  const made: Scripted[] = [];
  const warnings: object[] = [];
  const create = (wanted: WantedTunnel): Connector => {
    const connector = new Scripted(wanted);
    made.push(connector);
    return connector;
  };
  const set = new ConnectorSet({ create, onChange: () => {}, log: { info() {}, warn: (fields) => void warnings.push(fields) } });
  const phases = () => made.map(({ state }) => state.phase);
  return { set, made, phases, warnings };
}

const tunnel = (token: string, protocol: WantedTunnel['protocol'] = 'http2'): WantedTunnel => ({ id: 't', token, protocol });

test('the same tunnel wanted again changes nothing', () => {
  const { set, made } = rig();
  set.want([tunnel('a')]);
  set.want([tunnel('a')]);
  assert.equal(made.length, 1);
});

test('another token: the first connector serves until the second is connected, then drains', async () => {
  const { set, made, phases, warnings } = rig();
  set.want([tunnel('a')]);
  made[0]?.become('connected');
  set.want([tunnel('b')]);
  assert.deepEqual(phases(), ['connected', 'starting']);
  assert.equal(set.state('t')?.phase, 'connected');
  made[1]?.become('connected');
  assert.equal(set.state('t'), made[1]?.state);
  assert.equal(phases()[0], 'draining');
  await set.drain();
  assert.deepEqual(phases(), ['stopped', 'stopped']);
  assert.deepEqual(warnings, []);
});

test('a second connector that never connects leaves the first alone; a third replaces the second', () => {
  const { set, made, phases } = rig();
  set.want([tunnel('a')]);
  made[0]?.become('connected');
  set.want([tunnel('bad')]);
  made[1]?.become('failed');
  assert.equal(set.state('t')?.phase, 'connected');
  set.want([tunnel('c', 'quic')]);
  made[2]?.become('connected');
  assert.deepEqual(phases(), ['draining', 'draining', 'connected']);
});

test('a tunnel that is no longer wanted drains, and draining all waits for it', async () => {
  const { set, made, phases } = rig();
  set.want([tunnel('a')]);
  made[0]?.become('connected');
  set.want([]);
  assert.equal(set.state('t'), null);
  await set.drain();
  assert.deepEqual(phases(), ['stopped']);
});
