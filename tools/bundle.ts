// `npm run bundle -- DIR`: the program as one folder of JavaScript, as the image has it: starts faster and takes less memory than the sources.
import { build } from 'esbuild';

/** Writes `main.mjs` and what it loads on demand into `outdir`. */
export async function bundle(outdir: string): Promise<void> {
  await build({
    entryPoints: [{ in: `${import.meta.dirname}/../main.ts`, out: 'main' }],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
    // Packages in CommonJS ask for `require` at run time.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
}

if (import.meta.main) {
  const [outdir = 'dist'] = process.argv.slice(2);
  await bundle(outdir);
  console.log(`bundled into ${outdir}: node ${outdir}/main.mjs controller|proxy`);
}
