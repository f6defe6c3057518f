// Bundles the extension into one file; only `vscode`, which the editor brings, stays outside.

import { build } from 'esbuild';

await build({
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.cjs',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  // ws uses these native speed-ups if they are there. They are not.
  external: ['vscode', 'bufferutil', 'utf-8-validate'],
  minifySyntax: true,
  legalComments: 'eof',
  logLevel: 'warning',
});
