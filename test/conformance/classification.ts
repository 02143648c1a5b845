// Every test of the suite, classified: its features, the profiles that count it, and which entry can show it. The data is tests.json.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

export const profileNames = ['GATEWAY-HTTP', 'GATEWAY-GRPC'] as const;
export type ProfileName = (typeof profileNames)[number];
export type Level = 'core' | 'extended';

const classifiedSchema = z.strictObject({
  features: z.array(z.string()),
  /** The profiles whose report counts it; a test may count in none. */
  profiles: z.array(z.enum(profileNames)),
  /**
   * `any entry`: what it asks for can be shown through the tunnel as well. `listener TLS`: visitors meet the TLS of the Gateway's own
   * listener, so through a tunnel the edge would have to have its certificates. `outside`: kinds that an HTTP proxy behind a tunnel has not.
   */
  place: z.enum(['any entry', 'listener TLS', 'outside']),
});

export type ClassifiedTest = z.infer<typeof classifiedSchema>;

/** By the suite's short name. */
export const classifiedTests: Readonly<Record<string, ClassifiedTest>> = z
  .record(z.string(), classifiedSchema)
  .parse(JSON.parse(readFileSync(new URL('tests.json', import.meta.url), 'utf8')));

/** What a profile asks of everybody: a test that needs more than these is extended. */
const CORE: Readonly<Record<ProfileName, readonly string[]>> = {
  'GATEWAY-HTTP': ['Gateway', 'ReferenceGrant', 'HTTPRoute'],
  'GATEWAY-GRPC': ['Gateway', 'ReferenceGrant', 'GRPCRoute'],
};

/** Short names of the tests that a profile counts at a level, sorted. */
export function testsOf(profile: ProfileName, level: Level): readonly string[] {
  const isCore = ({ features }: ClassifiedTest): boolean => features.every((feature) => CORE[profile].includes(feature));
  return Object.entries(classifiedTests)
    .filter(([, test]) => test.profiles.includes(profile) && isCore(test) === (level === 'core'))
    .map(([name]) => name)
    .sort();
}
