import { build } from 'esbuild';
import { rm } from 'node:fs/promises';

/** Builds functions/dist: exactly what is uploaded by a deployment. */

const packages = [
  'firebase-functions',
  'firebase-functions/*',
  'firebase-admin',
  'firebase-admin/*',
  '@google-cloud/*',
];

await rm('functions/dist', { recursive: true, force: true });
await build({
  entryPoints: ['functions/src/index.ts'],
  outfile: 'functions/dist/index.js',
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  sourcemap: 'linked',
  external: packages,
  logLevel: 'warning',
});
