// The recorded list of what passes, per entry and channel, and what a run makes of it. Pure but for reading the list.
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { TestEnd } from './suite-output.ts';

export const entries = ['local', 'tunnel'] as const;
export const channels = ['experimental', 'standard'] as const;
export type EntryName = (typeof entries)[number];
export type Channel = (typeof channels)[number];

const file = new URL('expected.json', import.meta.url);
const namesSchema = z.array(z.string());
const perChannel = z.strictObject({ experimental: namesSchema, standard: namesSchema });
const schema = z.strictObject({ local: perChannel, tunnel: perChannel });

const read = (): z.infer<typeof schema> => schema.parse(JSON.parse(readFileSync(file, 'utf8')));

export const expectedTests = (entry: EntryName, channel: Channel): readonly string[] => read()[entry][channel];

export function recordExpected(entry: EntryName, channel: Channel, passed: readonly string[]): void {
  const all = read();
  all[entry][channel] = [...passed].sort();
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}

export interface Verdict {
  /** Recorded, and failed now or did not run. */
  readonly regressions: readonly string[];
  /** Passed, and not recorded. */
  readonly gains: readonly string[];
}

/** Compares with the list; `only` is the one test that was asked for. */
export function compare(expected: readonly string[], ends: readonly TestEnd[], only: string | null): Verdict {
  const outcome = new Map(ends.map((end) => [end.name, end.outcome]));
  const asked = only === null ? expected : expected.filter((name) => name === only);
  return {
    regressions: asked.filter((name) => outcome.get(name) !== 'pass'),
    gains: ends.filter((end) => end.outcome === 'pass' && !expected.includes(end.name)).map(({ name }) => name),
  };
}
