import { spawn } from 'node:child_process';
import { readArguments } from '../program.mjs';
import { onStopRequest } from './stop-requests';

/** `npm run dev` serves the source files. The watch mode of tsx restarts the server whenever a source file is saved. */

const USAGE = `Usage: npm run dev [-- --inspect]

Serves the functions from their source files until Ctrl-C, and restarts them whenever a source file is saved. The command reads the
environment variables of npm start (CONTRIBUTING.md#local-environment-variables).

--inspect  lets a debugger attach to port 9229`;

const { inspect = false } = readArguments(USAGE, { options: { inspect: { type: 'boolean' } } }).values;
// Watches all sources, because tsx does not know a file that is missing at a restart, and would not see it come back.
const sources = '--include=functions/src/**/*.ts';
const watch = [
  'node_modules/tsx/dist/cli.mjs',
  'watch',
  '--clear-screen=false',
  sources,
  ...(inspect ? ['--inspect'] : []),
];
// A process group of their own keeps Ctrl-C from tsx and the server, because tsx would wait for ever if Ctrl-C ended the server first.
const watched = spawn(
  process.execPath,
  ['--disable-warning=ExperimentalWarning', ...watch, 'dev/server/start.ts', '--sources'],
  {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: process.platform !== 'win32',
  },
);
onStopRequest(() => watched.kill('SIGTERM'));
process.once('exit', () => watched.kill('SIGTERM'));
watched.once('exit', (code) => process.exit(code ?? 1));
