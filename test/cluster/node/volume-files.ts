// What is in a volume that comes from the API: Secrets, ConfigMaps, facts about the pod, tokens, and projections of them.
import { fieldValue, resourceValue, type PlacedPod } from './fields.ts';
import { configMapData, secretData, valueOf, type Data, type PodTokens, type References } from './references.ts';
import type { DownwardItem, KeyToPath, NameRef, ProjectedSource, Volume } from './types.ts';

export interface VolumeFile {
  readonly data: Buffer;
  readonly mode: number;
}

/** By path below the volume. */
export type VolumeFiles = ReadonlyMap<string, VolumeFile>;

export interface VolumeContext {
  readonly placed: PlacedPod;
  readonly references: References;
  readonly tokens: Pick<PodTokens, 'token'>;
}

const DEFAULT_MODE = 0o644;

/** Null when the volume is none of these. Rejects with MissingReference for what is not there yet. */
export async function volumeFiles(context: VolumeContext, volume: Volume): Promise<VolumeFiles | null> {
  const { secret, configMap, downwardAPI, projected } = volume;
  const defaultMode = (secret ?? configMap ?? downwardAPI ?? projected)?.defaultMode ?? DEFAULT_MODE;
  if (projected !== undefined) {
    const parts = await Promise.all((projected.sources ?? []).map((source) => sourceFiles(context, source, defaultMode)));
    return new Map(parts.flatMap((part) => [...part]));
  }
  if (secret !== undefined) return sourceFiles(context, { secret: { ...secret, name: secret.secretName } }, defaultMode);
  if (configMap !== undefined) return sourceFiles(context, { configMap }, defaultMode);
  if (downwardAPI !== undefined) return sourceFiles(context, { downwardAPI }, defaultMode);
  return null;
}

async function sourceFiles(context: VolumeContext, source: ProjectedSource, mode: number): Promise<VolumeFiles> {
  const { placed, references, tokens } = context;
  const { namespace } = placed.pod.metadata;
  const { secret, configMap, downwardAPI, serviceAccountToken } = source;
  if (secret !== undefined) return chosen(secretData(references, namespace, secret), secret, mode);
  if (configMap !== undefined) return chosen(configMapData(references, namespace, configMap), configMap, mode);
  if (downwardAPI !== undefined) {
    return new Map((downwardAPI.items ?? []).map((item) => [item.path, { data: Buffer.from(downward(placed, item)), mode }]));
  }
  if (serviceAccountToken !== undefined) {
    const { path, ...request } = serviceAccountToken;
    return new Map([[path, { data: await tokens.token(request), mode }]]);
  }
  throw new Error(`a source of a projected volume that the node emulator does not know: ${Object.keys(source).join()}`);
}

function chosen(data: Data, ref: NameRef & { readonly items?: KeyToPath }, mode: number): VolumeFiles {
  if (ref.items === undefined) return new Map(Object.entries(data).map(([key, value]) => [key, { data: value, mode }]));
  const files = ref.items.map((item): readonly [string, VolumeFile | undefined] => {
    const value = valueOf(data, { ...ref, key: item.key });
    return [item.path, value && { data: value, mode: item.mode ?? mode }];
  });
  return new Map(files.filter((entry): entry is readonly [string, VolumeFile] => entry[1] !== undefined));
}

function downward(placed: PlacedPod, { fieldRef, resourceFieldRef }: DownwardItem): string {
  if (fieldRef !== undefined) return fieldValue(placed, fieldRef);
  const [only] = placed.pod.spec.containers;
  const container = placed.pod.spec.containers.find(({ name }) => name === resourceFieldRef?.containerName) ?? only;
  return container === undefined || resourceFieldRef === undefined ? '' : resourceValue(container, resourceFieldRef);
}
