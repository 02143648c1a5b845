// Without a cluster: a folder of YAML, statuses on the terminal and as files, a state file for what must be remembered.
import { createHash } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import type { Logger } from 'pino';
import { FolderStatusSink } from './apply/status-folder.ts';
import type { Snapshot } from './api/snapshot.ts';
import type { ControllerConfig } from './config.ts';
import type { Ground } from './ground.ts';
import { StateFile } from './loop/state-file.ts';
import { changesBetween } from './watch/changes.ts';
import { createFolderSource } from './watch/folder/source.ts';
import type { Source } from './watch/source.ts';

/** State goes beside other programs' state, a folder per watched folder. */
function stateDirectory(config: ControllerConfig): string {
  if (config.stateDir !== '') return config.stateDir;
  const base = process.env['XDG_STATE_HOME'] || path.join(os.homedir(), '.local/state');
  return path.join(base, 'cftunnel', createHash('sha256').update(path.resolve(config.watchDir)).digest('hex').slice(0, 12));
}

/** Whoever edits files is told what was understood: the first picture not, every difference after it. */
function tellChanges(source: Source, log: Logger): void {
  let before: Snapshot | null = null;
  source.onChange(() => {
    if (!source.synced) return;
    const after = source.snapshot();
    if (before !== null && after !== before) log.info(changesBetween(before, after), 'objects changed');
    before = after;
  });
}

export function folderGround(config: ControllerConfig, log: Logger): Ground {
  const stateDir = stateDirectory(config);
  const state = new StateFile(stateDir);
  let epoch = state.raiseEpoch();
  let sequence = 0;
  if (state.problem !== null) log.warn({ problem: state.problem }, 'nothing can be remembered between runs');
  const source = createFolderSource({ dir: config.watchDir, stateDir, log });
  tellChanges(source, log);
  return {
    source,
    statuses: new FolderStatusSink({
      statusDir: config.statusDir || null,
      current: (kind, key) => source.snapshot().objects[kind].get(key),
      log: log.child({ component: 'status' }),
    }),
    events: null,
    objects: null,
    tunnelSecrets: null,
    authority: {
      order: () => ({ epoch, sequence: (sequence += 1) }),
      get ports() {
        return state.ports;
      },
      keepPorts: (ports) => state.keepPorts(ports),
    },
    proxyToken: config.proxyAuth.token || null,
    raiseEpochAbove(seen) {
      if (seen > epoch) epoch = state.raiseEpoch(seen);
    },
    onAuthority() {},
    freshSource: () => createFolderSource({ dir: config.watchDir, stateDir, log }),
    stop: () => source.stop(),
  };
}
