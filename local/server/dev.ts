import { spawn } from 'node:child_process';
import { readArguments } from '../../scripts/arguments.mjs';
import { readConfig, StartupError } from './local-config';
import { openFirestore } from './running-firestore';
import { onStopRequest } from './stop-requests';

/**
 * `npm run dev` serves the source files and restarts whenever one of them is saved, by the watch mode of tsx. Firestore runs in
 * another process, so its data stays.
 */

const USAGE = `Usage: npm run dev [-- --inspect]

Serves the functions from their source files until Ctrl-C, and restarts them whenever a file is saved. It reads the environment variables of
npm start (CONTRIBUTING.md#local-environment-variables).

--inspect  lets a debugger attach to port 9229`;

async function main(): Promise<void> {
  const { inspect = false } = readArguments(USAGE, { options: { inspect: { type: 'boolean' } } }).values;
  const config = readConfig(process.env);
  const firestore = await openFirestore(config);
  const watch = ['node_modules/tsx/dist/cli.mjs', 'watch', '--clear-screen=false', ...(inspect ? ['--inspect'] : [])];
  const server = ['local/server/start.ts', '--sources'];
  if (firestore.isEmbedded) server.push('--firestore', firestore.address);
  // tsx takes a second signal as a request to kill the server. In its own process group, it gets no Ctrl-C from the terminal.
  const watched = spawn(process.execPath, [...watch, ...server], {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: process.platform !== 'win32',
  });
  onStopRequest(() => watched.kill('SIGTERM'));
  // This process also ends when the embedded Firestore ends.
  process.once('exit', () => watched.kill('SIGTERM'));
  watched.once('exit', (code) => void firestore.close().then(() => process.exit(code === 130 ? 0 : (code ?? 1))));
}

main().catch((error: unknown) => {
  console.error(error instanceof StartupError ? error.message : error);
  process.exit(1);
});
