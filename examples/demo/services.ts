// The two services behind the demo's Services, on the ports that its EndpointSlices name, or on others where those are taken.
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Lifetime } from '../lifetime.ts';
import { startApp } from './app.ts';
import { startGreeter } from './greeter.ts';

/** What `examples/quickstart/*.yaml` names. */
const APP_PORT = 47_080;
const GREETER_PORT = 47_051;

export interface DemoServices {
  readonly appPort: number;
  readonly greeterPort: number;
}

export async function startDemoServices(lifetime: Lifetime): Promise<DemoServices> {
  const app = await startApp(APP_PORT).catch(() => startApp(0));
  lifetime.onEnd(() => {
    app.closeAllConnections();
    app.close();
  });
  const greeter = await startGreeter(GREETER_PORT).catch(() => startGreeter(0));
  lifetime.onEnd(() => greeter.server.forceShutdown());
  return { appPort: (app.address() as AddressInfo).port, greeterPort: greeter.port };
}

/** The folder itself, or a copy of it where the endpoints are these services and not whatever has taken their ports. */
export function folderOf(dir: string, { appPort, greeterPort }: DemoServices, copy: string): string {
  const replaced = (text: string): string =>
    text
      .replaceAll(new RegExp(`\\b${APP_PORT}\\b`, 'g'), String(appPort))
      .replaceAll(new RegExp(`\\b${GREETER_PORT}\\b`, 'g'), String(greeterPort));
  const texts = new Map<string, string>();
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(dir, name);
    if (!/\.(ya?ml|json)$/i.test(name) || statSync(file, { throwIfNoEntry: false })?.isFile() !== true) continue;
    const text = readFileSync(file, 'utf8');
    if (replaced(text) !== text) texts.set(name, replaced(text));
  }
  if (texts.size === 0) return dir;
  cpSync(dir, copy, { recursive: true, dereference: true });
  for (const [name, text] of texts) writeFileSync(path.join(copy, name), text);
  return copy;
}
