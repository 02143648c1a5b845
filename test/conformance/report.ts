// The suite's official report: what it says of a profile, and the last line of a run. Pure.
import { load } from 'js-yaml';
import { z } from 'zod';
import { testsOf, type Level, type ProfileName, profileNames } from './classification.ts';

const statusSchema = z.object({
  result: z.enum(['success', 'partial', 'failure']),
  statistics: z.object({ Passed: z.number(), Failed: z.number(), Skipped: z.number() }),
  failedTests: z.array(z.string()).default([]),
  skippedTests: z.array(z.string()).default([]),
});

const reportSchema = z.object({
  kind: z.literal('ConformanceReport'),
  gatewayAPIVersion: z.string(),
  gatewayAPIChannel: z.string(),
  profiles: z.array(
    z.object({
      name: z.enum(profileNames),
      core: statusSchema,
      // Absent when no extended test ran.
      extended: statusSchema
        .extend({ supportedFeatures: z.array(z.string()).default([]), unsupportedFeatures: z.array(z.string()).default([]) })
        .optional(),
    }),
  ),
});

export type Report = z.infer<typeof reportSchema>;
type Profile = Report['profiles'][number];

/** Throws when the text is no report of the profiles that we run. */
export const parseReport = (yaml: string): Report => reportSchema.parse(load(yaml));

/** e.g. `GATEWAY-HTTP core 36/36 extended 58/58 (38/38 features)`, for each profile. What counts is what the release has, not what was run. */
export function summaryLine({ profiles }: Report): string {
  const inOrder = profileNames.flatMap((name) => profiles.filter((profile) => profile.name === name));
  return inOrder.map(profileSummary).join('; ');
}

function profileSummary({ name, core, extended }: Profile): string {
  const share = (level: Level, passed: number): string => `${level} ${passed}/${testsOf(name, level).length}`;
  const supported = extended?.supportedFeatures.length ?? 0;
  const known = supported + (extended?.unsupportedFeatures.length ?? 0);
  const passed = extended?.statistics.Passed ?? 0;
  return `${name} ${share('core', core.statistics.Passed)} ${share('extended', passed)} (${supported}/${known} features)`;
}

/** Features of a profile that the class did not claim; their tests did not run. */
export const unclaimed = (report: Report, name: ProfileName): readonly string[] =>
  report.profiles.find((profile) => profile.name === name)?.extended?.unsupportedFeatures ?? [];
