// Writes crds/*.yaml from the schemas of our own kinds; with --check it only says whether the files are what the schemas say.
import path from 'node:path';
import { dump } from 'js-yaml';
import { renderCrd } from '#controller/api/crd.ts';
import { ownKinds } from '#controller/api/own.ts';
import { runGenerator, type GeneratedFolder } from './generated-files.ts';

const HEADER = '# Made by tools/generate-crds.ts from controller/api/own.ts: change those, not this file.\n';

export const ownCrds = (folder: string): GeneratedFolder => ({
  folder,
  extension: '.yaml',
  files: new Map(ownKinds.map((own) => [`${own.plural}.yaml`, HEADER + dump(renderCrd(own), { noRefs: true, lineWidth: -1 })])),
});

if (import.meta.main) {
  const folder = path.join(import.meta.dirname, '..', 'crds');
  process.exitCode = runGenerator(ownCrds(folder), process.argv.slice(2), 'tools/generate-crds.ts');
}
