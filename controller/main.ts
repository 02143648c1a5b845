// Process entry of the controller: configuration, signals, exit code. The only process.exit and process.env.
import { startController } from './app.ts';
import { readConfig } from './config.ts';
import { createLogger } from './serve/log.ts';

const config = readConfig(process.argv.slice(2), process.env);
if ('errors' in config) {
  for (const error of config.errors) process.stderr.write(`${error}\n`);
  process.exit(1);
}
const log = createLogger(config.logLevel, config.logFormat);

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    log.fatal({ error: error instanceof Error ? error.stack : String(error) }, 'unexpected error, exiting');
    process.exit(1);
  });
}

try {
  const controller = await startController(config, log, (reason) => {
    log.error({ reason }, 'exiting, so that another replica can go on');
    process.exit(1);
  });
  let ending = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (ending) process.exit(1);
      ending = true;
      void controller.stop().then(() => process.exit(0));
    });
  }
} catch (error) {
  log.fatal({ error: (error as Error).message }, 'cannot start');
  process.exit(1);
}
