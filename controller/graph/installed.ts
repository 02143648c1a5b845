// Which Gateway API CRDs are installed, as far as one of them tells: the bundle that it is from, and the channel.
import * as cause from '../api/cause-class.ts';
import { ConditionType, isFalse, isTrue, Reason, type Finding } from '../api/condition.ts';
import type { CustomResourceDefinition } from '../api/core.ts';
import type { Key } from '../api/ref.ts';

const CRD = 'gatewayclasses.gateway.networking.k8s.io';
const BUNDLE = 'gateway.networking.k8s.io/bundle-version';
const CHANNEL = 'gateway.networking.k8s.io/channel';

const SUPPORTED = ['v1.5', 'v1.6'] as const;
export type Bundle = (typeof SUPPORTED)[number];

/** CRDs that this controller is built for. The experimental channel has all that the standard one has. */
export interface InstalledApi {
  readonly bundle: Bundle;
  readonly channel: 'standard' | 'experimental';
}

export interface Installation {
  /** Null when they cannot be looked at, and when they are others. */
  readonly api: InstalledApi | null;
  /** What is to be said about them; null when they cannot be looked at. */
  readonly finding: Finding | null;
}

const unsupported = (why: ReturnType<typeof cause.bundleUnknown>): Installation => ({
  api: null,
  finding: isFalse(ConditionType.SupportedVersion, why),
});

export function checkInstallation(crds: ReadonlyMap<Key, CustomResourceDefinition>): Installation {
  const crd = crds.get(CRD);
  if (crd === undefined) return { api: null, finding: null };
  const { [BUNDLE]: version, [CHANNEL]: channel } = crd.metadata.annotations ?? {};
  const minor = /^v\d+\.\d+(?=\.)/.exec(version ?? '')?.[0];
  if (version === undefined || minor === undefined) return unsupported(cause.bundleUnknown(BUNDLE));
  const bundle = SUPPORTED.find((supported) => supported === minor);
  if (bundle === undefined) return unsupported(cause.bundleUnsupported(version, SUPPORTED));
  return {
    api: { bundle, channel: channel === 'experimental' ? channel : 'standard' },
    finding: isTrue(ConditionType.SupportedVersion, Reason.SupportedVersion, `Gateway API CRDs of bundle ${version} are installed`),
  };
}
