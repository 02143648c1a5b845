// Folders of pods: files that change as a whole, and mounts of the machine that a container must keep.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { AtomicFolder } from './atomic-folder.ts';
import { outermostFolders } from './container-root.ts';

const file = (text: string, mode = 0o644) => ({ data: Buffer.from(text), mode });

test('files are replaced all at once, and go when they are not wanted', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-atomic-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
  const atomic = new AtomicFolder(folder);
  atomic.write(
    new Map([
      ['a', file('1')],
      ['deep/b', file('2', 0o600)],
    ]),
  );
  assert.deepEqual([read('a'), read('deep/b')], ['1', '2']);
  assert.equal(statSync(path.join(folder, 'deep/b')).mode & 0o777, 0o600);

  const first = readlinkSync(path.join(folder, '..data'));
  atomic.write(
    new Map([
      ['a', file('1')],
      ['deep/b', file('2', 0o600)],
    ]),
  );
  assert.equal(readlinkSync(path.join(folder, '..data')), first, 'nothing changed');

  atomic.write(
    new Map([
      ['a', file('3')],
      ['c', file('4')],
    ]),
  );
  assert.deepEqual([read('a'), read('c')], ['3', '4']);
  assert.deepEqual(
    readdirSync(folder)
      .filter((name) => !name.startsWith('..'))
      .sort(),
    ['a', 'c'],
  );
  assert.equal(readdirSync(folder).length, 4, 'the files of before are gone');
});

test('of mounts within mounts the outermost counts, single files of /etc do not', () => {
  const points = ['/', '/proc', '/proc/sys', '/dev', '/dev/shm', '/dev/shm', '/data\\040one', '/process', '/etc/hosts'];
  const mountinfo = points.map((point, index) => `${index} 1 0:1 / ${point} rw - ext4 none rw`).join('\n');
  assert.deepEqual(outermostFolders(`${mountinfo}\n`), ['/data one', '/dev', '/proc', '/process']);
});
