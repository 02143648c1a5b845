// `npm run quickstart`: the whole path on this machine, with no account and no cluster.
//
//   npm run quickstart                              runs until Ctrl-C; edit examples/quickstart/*.yaml meanwhile
//   npm run quickstart -- --once                    sends the requests itself, prints what came back, exits 0 only if all is right
//   npm run quickstart -- --connector cloudflared   the real cloudflared, from CLOUDFLARED or PATH
//   npm run quickstart -- --dir FOLDER              another folder of YAML
import path from 'node:path';
import { curlAbilities } from './curl.ts';
import { folderOf, startDemoServices } from './demo/services.ts';
import { Happenings } from './happenings.ts';
import { Lifetime } from './lifetime.ts';
import { startLocalCloudflare, TUNNEL_ID } from './local-cloudflare.ts';
import type { LocalCloudflare } from './local-cloudflare.ts';
import { readOptions, shown, USAGE } from './options.ts';
import type { Options } from './options.ts';
import { startPrograms, statusFolder } from './programs.ts';
import { exchanges } from './requests.ts';
import { Story } from './story.ts';
import { detail, faint, heading, say, step, table, trouble } from './terminal.ts';

/** Cold start on a slow machine included. */
const STARTING = { quietMs: 60_000, limitMs: 120_000 };
/** Once the YAML is read, what is right comes quickly; what is wrong never does, but may be mended while we run. */
const COMING = { quietMs: 3000, limitMs: 15_000 };
const UNLIKELY = { quietMs: 500, limitMs: 5000 };

const options = readOptions(process.argv.slice(2), process.env);
if (options === null) {
  say(USAGE);
  process.exit(0);
}
if ('error' in options) {
  trouble(options.error);
  say(`\n${USAGE}`);
  process.exit(2);
}

const story = new Story();
const happenings = new Happenings();
const lifetime = new Lifetime(() => {
  story.end();
  say('\nEnding everything ...');
});

async function start({ connector }: Options, cloudflare: LocalCloudflare, dir: string): Promise<void> {
  let hope = COMING;
  const isThere = async (holds: () => boolean): Promise<boolean> => {
    const came = await happenings.until(holds, hope);
    if (!came || story.hasProblems) hope = UNLIKELY;
    return came;
  };
  if (!(await happenings.until(() => story.isSynced, STARTING))) throw new Error('the controller has not read the YAML in time');
  step(`the controller has read the YAML in ${shown(dir)}`);

  if (await isThere(() => cloudflare.document().version > 0)) {
    step(`tunnel found: ${TUNNEL_ID}`);
    const { version, rules } = cloudflare.document();
    story.ingress(rules, `ingress rules written (version ${version} of the tunnel's document):`);
  } else trouble('no ingress rules are written: does a Gateway belong to a GatewayClass that names the tunnel?');

  if (await isThere(() => story.applied !== '')) step(`configuration accepted by the proxy: ${story.applied}`);
  else trouble('the proxy has no configuration');

  const kind = connector === 'native' ? 'the one in TypeScript' : 'cloudflared';
  if (await isThere(() => cloudflare.isDocumentInUse())) step(`connector registered (${kind}) and serving by these rules`);
  else trouble(`the connector (${kind}) has not registered at the edge`);

  if (await isThere(() => story.isWell)) step('all objects are well:');
  else trouble('not everything is well:');
  story.goLive();
}

/** Sends every request and prints what came back; true when all is as it should be. */
async function sendAll({ visitor }: LocalCloudflare): Promise<boolean> {
  const rows: string[][] = story.troubles().map(([where, text]) => ['FAIL', where, text]);
  for (const exchange of exchanges) {
    try {
      rows.push(['ok', exchange.sent, await exchange.run(visitor)]);
    } catch (error) {
      rows.push(['FAIL', exchange.sent, `${(error as Error).message} (expected: ${exchange.expected})`]);
    }
  }
  say();
  table(['', 'sent', 'came back'], rows);
  const failed = rows.filter(([verdict]) => verdict === 'FAIL').length;
  say(`\n${rows.length - failed} right, ${failed} wrong`);
  return failed === 0;
}

function invite({ visitor }: LocalCloudflare, dir: string): void {
  const curl = curlAbilities();
  say();
  heading('Try it from another terminal:');
  say();
  if (!curl.isInstalled) detail('(these lines need curl, which is not installed)\n');
  for (const exchange of exchanges) {
    detail(faint(`# ${exchange.sent}: ${exchange.expected}${exchange.hint === undefined ? '' : ` (${exchange.hint})`}`));
    if (exchange.needsHttp2 === true && curl.isInstalled && !curl.hasHttp2) detail('(needs a curl with HTTP/2, which this one has not)\n');
    else detail(`${exchange.curl(visitor)}\n`);
  }
  say(`Edit a file in ${shown(dir)} and send again: changes are live within a second.`);
  say(`Statuses as YAML: ${statusFolder(lifetime)}`);
  say('Ctrl-C ends everything.');
}

/** The folder to read, which is a copy where the demo's ports are taken. */
async function startServices({ dir }: Options): Promise<string> {
  const services = await startDemoServices(lifetime);
  const folder = folderOf(dir, services, path.join(lifetime.folder, 'yaml'));
  step(`demo services: a web application on 127.0.0.1:${services.appPort}, a gRPC service on 127.0.0.1:${services.greeterPort}`);
  if (folder !== dir) detail('(the usual ports are taken, by another quick start perhaps: this one reads a copy of the YAML with these)');
  return folder;
}

async function run(given: Options): Promise<void> {
  heading('A Cloudflare Tunnel with Gateway API objects, all on this machine');
  const cloudflare = await startLocalCloudflare(lifetime);
  step(`a local Cloudflare: API at ${cloudflare.apiUrl}, edge at ${cloudflare.edgeAddresses.join(', ')}`);
  const dir = await startServices(given);
  cloudflare.onChange(() => happenings.happened());
  await startPrograms({
    lifetime,
    cloudflare,
    options: given,
    dir,
    onLine(line) {
      story.hear(line);
      happenings.happened();
    },
    onEarlyEnd(program, how) {
      trouble(`the ${program} has ended by itself (${how})`);
      void lifetime.end(1);
    },
  });
  await start(given, cloudflare, dir);
  if (given.once) await lifetime.end((await sendAll(cloudflare)) ? 0 : 1);
  invite(cloudflare, dir);
  cloudflare.onChange(() => story.ingress(cloudflare.document().rules, 'ingress rules are now:'));
}

try {
  await run(options);
} catch (error) {
  if (!lifetime.isEnding) trouble((error as Error).message);
  await lifetime.end(1);
}
