// How the quick start writes to a terminal, a file or a pipe: marks, a little colour where the terminal has it, aligned tables.
import { styleText } from 'node:util';

type Colour = Parameters<typeof styleText>[0];

/** Plain where stdout is no terminal, and where NO_COLOR asks for it. */
const paint = (colour: Colour, text: string): string => styleText(colour, text, { stream: process.stdout });

export const say = (text = ''): void => void process.stdout.write(`${text}\n`);
export const heading = (text: string): void => say(paint('bold', text));
/** Something is done. */
export const step = (text: string): void => say(`${paint('green', '\u2713')} ${text}`);
/** Something is wrong. */
export const trouble = (text: string): void => say(`${paint('red', '\u2717')} ${text}`);
/** Something has happened. */
export const news = (text: string): void => say(`${paint('cyan', '\u2022')} ${text}`);
export const detail = (text: string): void => say(`  ${text}`);
export const faint = (text: string): string => paint('dim', text);

/** Aligned columns, indented. Rows that begin with `FAIL` stand out. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const aligned = (row: readonly string[]): string => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  say(`    ${faint(aligned(head).trimEnd())}`);
  for (const row of rows) {
    const line = `    ${aligned(row)}`.trimEnd();
    say(row[0] === 'FAIL' ? paint('red', line) : line);
  }
}

/** One word of a POSIX shell, in quotes only where it must be. */
export const shellWord = (text: string): string => (/^[\w/:.,@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
