// What `npm run tools` says about tools and builds, as text. Pure.

export interface ToolState {
  readonly name: string;
  readonly version: string;
  readonly target: string;
  readonly built: boolean;
}

/** One line a tool: name, version, state, and where it is when it is built. */
export function listing(tools: readonly ToolState[]): string {
  const width = (of: (tool: ToolState) => string): number => Math.max(...tools.map((tool) => of(tool).length));
  const nameWidth = width(({ name }) => name);
  const versionWidth = width(({ version }) => version);
  return tools
    .map(({ name, version, target, built }) => {
      const state = built ? `built    ${target}` : 'missing';
      return `${name.padEnd(nameWidth)}  ${version.padEnd(versionWidth)}  ${state}`;
    })
    .join('\n');
}

/** `milliseconds` in words: `0.4 s`, `25 s`, `5 min 02 s`. */
export function seconds(milliseconds: number): string {
  const whole = Math.round(milliseconds / 1000);
  if (whole < 10) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}

/** How a build ended, e.g. `built in 25 s, 24 MB`. A folder has no size worth telling. */
export function buildSummary(result: { readonly size: number; isFile(): boolean }, milliseconds: number): string {
  const size = result.isFile() ? `, ${Math.round(result.size / 1e6)} MB` : '';
  return `built in ${seconds(milliseconds)}${size}`;
}
