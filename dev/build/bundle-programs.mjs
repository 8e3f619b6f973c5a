import '../../functions/node-version.cjs';
import { build } from 'esbuild';
import repositoryLock from '../../package-lock.json' with { type: 'json' };
import { readArguments, refuseArguments } from '../program.mjs';
import { assertSelfContained, listBundled, OPTIONAL } from './production.mjs';

const USAGE = `Usage: node dev/build/bundle-programs.mjs FOLDER

Bundles programs that run with rights in a project, each into one file in FOLDER: the operator's command (price-lists.cjs), and the
checks before and after a deployment (deploy-check.cjs, verify.cjs). The command needs only Node. The checks also need this
repository, and deploy-check.cjs needs functions/dist and the installed package firebase-functions.`;

const PROGRAMS = ['command/cli/price-lists.ts', 'deploy/deploy-check.ts', 'deploy/verify.ts'];

const [folder, ...others] = readArguments(USAGE, { allowPositionals: true }).positionals;
if (folder === undefined || others.length > 0) refuseArguments('Name one FOLDER.', USAGE);

const { metafile } = await build({
  entryPoints: PROGRAMS,
  outdir: folder,
  entryNames: '[name]',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node22',
  // Ends the program with a message on an older Node, such as that of a Cloud Shell.
  inject: ['functions/node-version.cjs'],
  alias: OPTIONAL,
  metafile: true,
  logLevel: 'warning',
});
listBundled(metafile, repositoryLock);
assertSelfContained(metafile);
