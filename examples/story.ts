// What the quick start prints: the log lines of controller and proxy, as the steps that they are, in plain words.
import type { LogLine } from './processes.ts';

interface IngressRule {
  readonly hostname?: string;
  readonly path?: string;
  readonly service: string;
}

export const say = (text = ''): void => void process.stdout.write(`${text}\n`);
export const step = (text: string): void => say(`\u2713 ${text}`);
export const trouble = (text: string): void => say(`\u2717 ${text}`);

/** Aligned columns, indented. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of [head, ...rows])
    say(
      `    ${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}`,
    );
}

/** The ingress document as a table. */
export function ingressTable(rules: readonly IngressRule[]): void {
  table(
    ['hostname', 'goes to'],
    rules.map(({ hostname, service }) => [hostname ?? '(any other)', service]),
  );
}

/** One log line in plain words, or null for what only matters when something is wrong. */
export function tell(line: LogLine): string | null {
  if (line.level === 'error' || line.level === 'fatal')
    return `\u2717 ${line.msg}${typeof line['error'] === 'string' ? `: ${line['error']}` : ''}`;
  switch (line.msg) {
    case 'status':
      return `  ${String(line['object'])}: ${String(line['text'])}`;
    case 'problem':
      return `\u2717 ${String(line['where'])}: ${String(line['text'])}`;
    case 'problem solved':
      return `\u2713 ${String(line['where'])}: mended`;
    case 'configuration applied':
      return `\u2713 the proxy accepted a configuration: ${String(line['routes'])} routes, ${String(line['rules'])} rules (epoch ${String(line['epoch'])}, sequence ${String(line['sequence'])})`;
    default:
      return null;
  }
}
