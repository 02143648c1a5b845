// Where the built tools are: tests ask here and skip by name when the answer is null. Never builds anything and needs no Go.
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { recipe, toolEntry, type Recipe, type ToolName } from './tool-catalog.ts';

export { toolNames, type ToolName } from './tool-catalog.ts';

export type CrdChannel = 'standard' | 'experimental';

/** How to get what a test misses. */
export const buildHint = (names: readonly ToolName[]): string =>
  `not built: ${names.join(', ')}; get them with: npm run tools -- ${names.join(' ')}`;

/** The folder of all tools, outside the tree: a fresh clone finds what another one built. */
export function toolsRoot(): string {
  const { CFTUNNEL_TOOLS: own, XDG_CACHE_HOME: cache } = process.env;
  if (own) return path.resolve(own);
  return path.join(cache || path.join(os.homedir(), '.cache'), 'cftunnel-tools');
}

/** The folder of the Go module that locks a tool's dependencies. */
export const moduleFolder = (name: ToolName): string => path.join(import.meta.dirname, 'go', toolEntry(name).module);

export function toolRecipe(name: ToolName): Recipe {
  const read = (file: string): string => readFileSync(path.join(moduleFolder(name), file), 'utf8');
  return recipe(name, { goMod: read('go.mod'), goSum: read('go.sum') }, `${process.platform}-${process.arch}`);
}

/** Where a tool is, or will be: the program, or for the CRDs their folder. */
export function toolTarget(what: Recipe): string {
  const folder = path.join(toolsRoot(), what.folder);
  return toolEntry(what.name).package === null ? folder : path.join(folder, what.name);
}

/** The absolute path of a built tool, null when it is not built (or its locked sources changed since). */
export function toolPath(name: ToolName): string | null {
  const target = toolTarget(toolRecipe(name));
  return existsSync(target) ? target : null;
}

export const missingTools = (names: readonly ToolName[]): readonly ToolName[] => names.filter((name) => toolPath(name) === null);

/** A folder with the YAML of the Gateway API CRDs of one channel (and the policy that guards upgrades), null when not there. */
export function gatewayApiCrds(channel: CrdChannel): string | null {
  const folder = toolPath('gateway-api-crds');
  return folder === null ? null : path.join(folder, channel);
}
