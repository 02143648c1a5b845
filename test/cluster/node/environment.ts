// The environment of a container, in the order in which a kubelet makes it. Pure.
import { fieldValue, resourceValue, type PlacedPod } from './fields.ts';
import { configMapData, secretData, valueOf, type Data, type References } from './references.ts';
import type { Container, EnvironmentVariable } from './types.ts';

/** `image` is what the image itself sets. Throws MissingReference for what is not there yet. */
export function environment(
  placed: PlacedPod,
  container: Container,
  references: References,
  image: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { namespace } = placed.pod.metadata;
  const env: Record<string, string> = { ...image, HOSTNAME: placed.pod.metadata.name };
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    if (configMapRef !== undefined) Object.assign(env, prefixed(prefix, configMapData(references, namespace, configMapRef)));
    if (secretRef !== undefined) Object.assign(env, prefixed(prefix, secretData(references, namespace, secretRef)));
  }
  for (const variable of container.env ?? []) {
    const value = valueFrom(placed, container, references, variable);
    if (value === undefined) env[variable.name] = expand(variable.value ?? '', env);
    else if (value !== null) env[variable.name] = value;
  }
  return env;
}

const prefixed = (prefix: string, data: Data): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [prefix + key, value.toString()]));

/** Undefined when the variable has a literal value, null when its source is absent and may be. */
function valueFrom(
  placed: PlacedPod,
  container: Container,
  references: References,
  { valueFrom: from }: EnvironmentVariable,
): string | null | undefined {
  if (from === undefined) return undefined;
  const { namespace } = placed.pod.metadata;
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = from;
  if (fieldRef !== undefined) return fieldValue(placed, fieldRef);
  if (resourceFieldRef !== undefined) {
    const named = placed.pod.spec.containers.find(({ name }) => name === resourceFieldRef.containerName);
    return resourceValue(named ?? container, resourceFieldRef);
  }
  if (secretKeyRef !== undefined) return valueOf(secretData(references, namespace, secretKeyRef), secretKeyRef)?.toString() ?? null;
  if (configMapKeyRef !== undefined) {
    return valueOf(configMapData(references, namespace, configMapKeyRef), configMapKeyRef)?.toString() ?? null;
  }
  throw new Error(`a source of environment variables that the node emulator does not know: ${Object.keys(from).join()}`);
}

/** `$(NAME)` is the value of a variable that came before, `$$(NAME)` is `$(NAME)`; what is not known stays as it is. Also in arguments. */
export const expand = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$(\$\([\w.-]+\))|\$\(([\w.-]+)\)/g, (all, escaped: string | undefined, name: string | undefined) =>
    escaped === undefined ? (env[name ?? ''] ?? all) : escaped,
  );
