// Waits for a condition that nobody announces.
import { setTimeout as pause } from 'node:timers/promises';

const INTERVAL_MS = 30;

/**
 * Asks again and again until `holds` is true; a rejection counts as not yet. Rejects when `signal` aborts, with its reason, the name of
 * what was awaited and the last rejection.
 */
export async function until(what: string, signal: AbortSignal, holds: () => Promise<boolean>): Promise<void> {
  let last = '';
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      last = ` (last answer: ${(error as Error).message})`;
    }
    if (signal.aborted) throw new Error(`waiting until ${what}${last}: ${(signal.reason as Error).message}`);
    await pause(INTERVAL_MS);
  }
}
