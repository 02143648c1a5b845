// What a controller without a cluster remembers between runs, in one small file: the epoch, and the port of each tunnel.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const schema = z.object({ epoch: z.int().min(0), ports: z.record(z.string(), z.int()).default({}) });
type Remembered = z.infer<typeof schema>;

export class StateFile {
  private readonly file: string;
  private remembered: Remembered;
  /** Why nothing can be kept, null when all is well. */
  problem: string | null = null;

  constructor(dir: string) {
    this.file = path.join(dir, 'controller.json');
    this.remembered = this.read();
  }

  get ports(): ReadonlyMap<string, number> {
    return new Map(Object.entries(this.remembered.ports));
  }

  /** A higher epoch than any run before, so that proxies take this run's configurations for the newer ones. */
  raiseEpoch(above = 0): number {
    this.remembered = { ...this.remembered, epoch: Math.max(this.remembered.epoch, above) + 1 };
    this.write();
    return this.remembered.epoch;
  }

  keepPorts(ports: ReadonlyMap<string, number>): void {
    const next = Object.fromEntries(ports);
    if (JSON.stringify(next) === JSON.stringify(this.remembered.ports)) return;
    this.remembered = { ...this.remembered, ports: next };
    this.write();
  }

  private read(): Remembered {
    try {
      return schema.parse(JSON.parse(readFileSync(this.file, 'utf8')));
    } catch {
      // Absent or damaged: seconds since the epoch are above whatever was counted one by one before.
      return { epoch: Math.floor(Date.now() / 1000), ports: {} };
    }
  }

  private write(): void {
    try {
      mkdirSync(path.dirname(this.file), { recursive: true, mode: 0o700 });
      const temporary = `${this.file}.${process.pid}.tmp`;
      writeFileSync(temporary, JSON.stringify(this.remembered), { mode: 0o600 });
      renameSync(temporary, this.file);
      this.problem = null;
    } catch (error) {
      this.problem = `cannot write ${this.file}: ${(error as Error).message}`;
    }
  }
}
