// Process entry of the proxy: settings, signals, exit code. The only process.exit and process.env.
import { pino } from 'pino';
import { startProxy } from './app.ts';
import { readSettings } from './settings.ts';

const settings = readSettings(process.env);
if ('errors' in settings) {
  for (const error of settings.errors) process.stderr.write(`${error}\n`);
  process.exit(1);
}
// Children and diagnostic reports must not find the tokens again.
for (const name of ['TUNNEL_TOKEN', 'PROXY_AUTH_TOKEN']) delete process.env[name];

const log = pino({
  level: settings.logLevel,
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
});

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    log.fatal({ error: error instanceof Error ? error.stack : String(error) }, 'unexpected error, exiting');
    process.exit(1);
  });
}

try {
  const proxy = await startProxy(settings, log);
  let ending = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (ending) process.exit(1);
      ending = true;
      log.info({ signal }, 'draining');
      void proxy.drain().then(() => process.exit(0));
    });
  }
} catch (error) {
  log.fatal({ error: (error as Error).message }, 'cannot start');
  process.exit(1);
}
