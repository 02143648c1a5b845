// Waits for a condition that nobody announces; the limit only keeps a broken test from hanging.
import { setTimeout as pause } from 'node:timers/promises';

const LIMIT_MS = 10_000;
const INTERVAL_MS = 3;

export async function eventually(what: string, holds: () => boolean, limitMs = LIMIT_MS): Promise<void> {
  const until = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > until) throw new Error(`never happened: ${what}`);
    await pause(INTERVAL_MS);
  }
}
