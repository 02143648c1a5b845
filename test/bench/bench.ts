// `npm run bench`: our proxy against nginx in one run, one core for the proxy and one for everything else: CPU per request, latency at
// one connection, memory. Then the cost of a reconcile and of a routing decision against the size of the table.
//
//   npm run bench                                three rounds, the best of each; about three minutes
//   npm run bench -- --rounds 5 --seconds 8
//
// Only the ratios are worth keeping: they are of one minute on one machine. nginx and wrk are Debian packages of these names.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { PlanePusher } from '#controller/apply/proxy.ts';
import { bundle } from '#tools/bundle.ts';
import { freeStablePort } from '#test/cluster/free-port.ts';
import { cpuOf, endAll, ended, listening, memoryOf, missingPrograms, pinned, wrk } from './processes.ts';
import { backendConf, nginxConf, ourItems, wrkScript } from './worlds.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '5' } } });
const [PROXY_CORE, OTHER_CORE] = [0, 1];

interface Subject {
  readonly name: string;
  /** Starts it and resolves when it serves; resolves with its process id and port. */
  start(): Promise<{ readonly pid: number; readonly port: number; stop(): Promise<void> }>;
}

interface Best {
  cpu: number;
  p50: number;
  memory: number;
  errors: number;
}

function nginx(dir: string, rules: number, backend: number): Subject {
  return {
    name: `nginx, ${rules} rules`,
    async start() {
      const port = await freeStablePort('127.0.0.1');
      const conf = path.join(dir, 'nginx.conf');
      writeFileSync(conf, nginxConf(dir, rules, port, backend));
      const child = pinned(PROXY_CORE, ['nginx', '-c', conf]);
      await listening(port);
      return { pid: child.pid ?? 0, port, stop: () => ended(child) };
    },
  };
}

/** The proxy as the image runs it, configured over its config API. */
function ours(dir: string, rules: number, backend: number): Subject {
  return {
    name: `ours, ${rules} rules`,
    async start() {
      const [port, configPort] = [await freeStablePort('127.0.0.1'), await freeStablePort('127.0.0.1')];
      const env = {
        PROXY_INSECURE_CONFIG_API: 'true',
        PROXY_CONFIG_ADDR: `127.0.0.1:${configPort}`,
        PROXY_STATE_DIR: path.join(dir, `state-${configPort}`),
        PROXY_LOG_LEVEL: 'error',
      };
      const child = pinned(PROXY_CORE, [process.execPath, '--max-semi-space-size=4', path.join(dir, 'bundle/main.mjs'), 'proxy'], env);
      await listening(configPort);
      const pusher = new PlanePusher({ token: null, onFact: () => {}, onHigherEpoch: () => {} });
      pusher.follow([`http://127.0.0.1:${configPort}/config`]);
      pusher.apply({ id: 'shared', items: ourItems(rules, port, backend) }, { epoch: 1, sequence: 1 });
      await listening(port);
      await pusher.round(30_000);
      pusher.stop();
      return { pid: child.pid ?? 0, port, stop: () => ended(child) };
    },
  };
}

async function measure(subject: Subject, script: string, seconds: number, best: Best): Promise<void> {
  const running = await subject.start();
  await wrk(OTHER_CORE, script, running.port, { connections: 50, seconds: Math.max(2, Math.round(seconds / 2)) });
  const before = cpuOf(running.pid);
  const full = await wrk(OTHER_CORE, script, running.port, { connections: 50, seconds });
  const cpu = (cpuOf(running.pid) - before) / full.requests;
  const single = await wrk(OTHER_CORE, script, running.port, { connections: 1, seconds: 2 });
  best.cpu = Math.min(best.cpu, cpu);
  best.p50 = Math.min(best.p50, single.p50);
  best.memory = Math.max(best.memory, memoryOf(running.pid));
  best.errors += full.errors + single.errors;
  await running.stop();
}

async function compare(): Promise<void> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-'));
  try {
    await bundle(path.join(dir, 'bundle'));
    const backend = await freeStablePort('127.0.0.1');
    const script = path.join(dir, 'request.lua');
    writeFileSync(script, wrkScript);
    writeFileSync(path.join(dir, 'backend.conf'), backendConf(dir, backend));
    pinned(OTHER_CORE, ['nginx', '-c', path.join(dir, 'backend.conf')]);
    await listening(backend);
    const subjects = [nginx(dir, 1000, backend), ...[10, 1000, 10_000].map((rules) => ours(dir, rules, backend))];
    const results = new Map<string, Best>(subjects.map(({ name }) => [name, { cpu: Infinity, p50: Infinity, memory: 0, errors: 0 }]));
    for (let round = 1; round <= Number(values.rounds); round += 1) {
      for (const subject of round % 2 === 1 ? subjects : subjects.toReversed()) {
        process.stderr.write(`round ${round}: ${subject.name}\n`);
        await measure(subject, script, Number(values.seconds), results.get(subject.name) ?? { cpu: 0, p50: 0, memory: 0, errors: 0 });
      }
    }
    const base = results.get('nginx, 1000 rules');
    console.log('\nGET 1 KiB, 50 connections, one core            CPU/request   of nginx   p50 at 1 connection   memory   errors');
    for (const [name, { cpu, p50, memory, errors }] of results) {
      const columns = [
        `${cpu.toFixed(1)} us`,
        ((base?.cpu ?? 0) / cpu).toFixed(2),
        `${p50} us (${p50 - (base?.p50 ?? 0)} over nginx)`,
        `${memory.toFixed(0)} MB`,
        errors,
      ];
      console.log(`  ${name.padEnd(43)} ${columns.map((text, i) => String(text).padStart([12, 10, 21, 8, 8][i] ?? 8)).join(' ')}`);
    }
  } finally {
    endAll();
    rmSync(dir, { recursive: true, force: true });
  }
}

const missing = missingPrograms(['nginx', 'wrk', 'taskset', 'getconf']);
if (missing.length > 0) console.log(`SKIPPED the comparison with nginx: ${missing.join(', ')} not found (apt-get install nginx-light wrk)`);
else await compare();

for (const script of ['reconcile.ts', 'tenants.ts', 'table.ts']) {
  console.log(`\n== test/bench/${script}\n`);
  spawnSync(process.execPath, [path.join(import.meta.dirname, script)], { stdio: 'inherit' });
}
