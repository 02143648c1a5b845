// Reads the suite's Go sources, when Go has downloaded them: which tests there are, and which features gate each.
import { existsSync, globSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { toolRecipe } from '../../tools/tool-paths.ts';

/** Where the sources of the locked version are, or would be. */
export function suiteSource(): { readonly folder: string; readonly isThere: boolean } {
  const { GOMODCACHE: cache, GOPATH: goPath } = process.env;
  const modules = cache || path.join(goPath?.split(path.delimiter)[0] || path.join(os.homedir(), 'go'), 'pkg', 'mod');
  const folder = path.join(modules, 'sigs.k8s.io', 'gateway-api', `conformance@${toolRecipe('conformance-suite').version}`, 'tests');
  return { folder, isThere: existsSync(folder) };
}

/** Features by short name, of all tests below `folder`. */
export function testsInSource(folder: string): Readonly<Record<string, readonly string[]>> {
  const texts = globSync('**/*.go', { cwd: folder }).map((file) => readFileSync(path.join(folder, file), 'utf8'));
  return Object.fromEntries(texts.flatMap(declaredTests));
}

/** The tests that one Go file declares. Throws when a declaration does not look as expected: none may be overlooked. */
export function declaredTests(source: string): readonly (readonly [string, readonly string[]])[] {
  const declarations = source.split(/\bConformanceTest\{\n/).slice(1);
  return declarations.map((declaration) => {
    const name = /^\s*ShortName:\s*"(\w+)"/m.exec(declaration)?.[1];
    const list = /^\s*Features:\s*\[\]features\.FeatureName\{([^}]*)\}/m.exec(declaration)?.[1];
    if (name === undefined || list === undefined) throw new Error(`a test without name or features: ${declaration.slice(0, 200)}`);
    // Every constant is called Support, then the feature.
    return [name, [...list.matchAll(/features\.Support(\w+)/g)].map(([, feature = '']) => feature)] as const;
  });
}
