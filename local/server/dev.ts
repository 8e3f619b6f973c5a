import { spawn } from 'node:child_process';
import { readArguments } from '../../scripts/arguments.mjs';
import { readConfig, StartupError } from './local-config';
import { openFirestore } from './running-firestore';
import { onStopRequest } from './stop-requests';

/**
 * `npm run dev`: serves the source files, and again whenever one of them is saved, by tsx's own watch. Firestore is a process of
 * its own, so its data stay.
 */

const USAGE = `Usage: npm run dev [-- --inspect]

Serves the functions as they are in the source files, and again whenever one of them is saved, until Ctrl-C. Environment variables are those
of npm start (CONTRIBUTING.md#local-environment-variables).

--inspect  lets a debugger attach to port 9229`;

async function main(): Promise<void> {
  const { inspect = false } = readArguments(USAGE, { options: { inspect: { type: 'boolean' } } }).values;
  const config = readConfig(process.env);
  const firestore = await openFirestore(config);
  const watch = ['node_modules/tsx/dist/cli.mjs', 'watch', '--clear-screen=false', ...(inspect ? ['--inspect'] : [])];
  const server = ['local/server/start.ts', '--sources'];
  if (firestore.isEmbedded) server.push('--firestore', firestore.address);
  // In a group of its own a terminal's Ctrl-C does not reach it: tsx takes a second signal for a request to kill the server.
  const watched = spawn(process.execPath, [...watch, ...server], {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: process.platform !== 'win32',
  });
  onStopRequest(() => watched.kill('SIGTERM'));
  // This process ends also when the embedded Firestore does.
  process.once('exit', () => watched.kill('SIGTERM'));
  watched.once('exit', (code) => void firestore.close().then(() => process.exit(code === 130 ? 0 : (code ?? 1))));
}

main().catch((error: unknown) => {
  console.error(error instanceof StartupError ? error.message : error);
  process.exit(1);
});
