// A program file for the stand-in, since supervisors start programs and not modules.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The program's path, and how to remove it. It names its runtime itself: supervisors hand it no environment to find one. */
export function createStandIn(environment: Readonly<Record<string, string>> = {}): { readonly program: string; remove(): void } {
  const dir = mkdtempSync(path.join(tmpdir(), 'stand-in-'));
  const program = path.join(dir, 'cloudflared');
  const settings = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
  writeFileSync(
    program,
    `#!/bin/sh\n${settings.join('')}exec '${process.execPath}' '${path.join(import.meta.dirname, 'program.ts')}' "$@"\n`,
  );
  chmodSync(program, 0o755);
  return { program, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
