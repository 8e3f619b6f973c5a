import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { BUILD_FOLDER, type Bundler } from './bundler';
import { startFunctionsServer, type FunctionsServer } from './functions-server';
import type { ThreadCommand, ThreadData, ThreadReport } from './functions-thread';
import { loadFunctions } from './load-functions';

/** One build of the functions that serves requests. */
export type ServedBuild = Pick<FunctionsServer, 'origin' | 'addresses' | 'close'>;

/** Runs builds and serves them at ports of their own. */
export interface BuildHost {
  serve: (file: string) => Promise<ServedBuild>;
  close: () => Promise<void>;
}

interface BuildHostOptions {
  project: string;
  publicOrigin: string;
  bundler: Bundler;
}

/** Runs each build in this thread, because not every debugger attaches to the threads of a process. */
export function createInlineHost({ project, publicOrigin }: BuildHostOptions): BuildHost {
  return {
    serve: (file) => startFunctionsServer({ port: 0, project, functions: loadFunctions(file), publicOrigin }),
    close: () => Promise.resolve(),
  };
}

/** Runs each build in a new thread, and keeps the next thread ready with the packages loaded. */
export async function createThreadHost(options: BuildHostOptions, onCrash: () => void): Promise<BuildHost> {
  const program = resolve(BUILD_FOLDER, 'functions-thread.cjs');
  await build({
    entryPoints: ['local/server/functions-thread.ts'],
    outfile: program,
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'silent',
  });
  let isServing: Worker | undefined;
  const createThread = (): Worker => {
    const workerData: ThreadData = {
      project: options.project,
      publicOrigin: options.publicOrigin,
      packages: options.bundler.getPackages(),
      packageRoot: program,
      isTerminal: process.stdout.isTTY,
    };
    const thread = new Worker(program, { workerData });
    thread.on('error', (error) => {
      console.error(error);
      if (thread === isServing) onCrash();
    });
    return thread;
  };
  let spare: Worker | undefined;
  return {
    serve: async (file) => {
      const thread = spare ?? createThread();
      spare = undefined;
      const report = nextReport(thread);
      send(thread, { kind: 'load', file });
      const result = await report.finally(() => (spare = createThread()));
      if (result.kind === 'failed') {
        await thread.terminate();
        throw new Error(result.error);
      }
      isServing = thread;
      return { ...result, close: (graceMs) => retire(thread, graceMs) };
    },
    close: async () => {
      await spare?.terminate();
    },
  };
}

const send = (thread: Worker, command: ThreadCommand) => thread.postMessage(command);

/** @throws the error that ends the thread before it reports */
function nextReport(thread: Worker): Promise<ThreadReport> {
  return new Promise((resolve, reject) => {
    thread.once('message', resolve).once('error', reject);
    thread.once('exit', () => reject(new Error('The functions ended the process while they were loaded.')));
  });
}

async function retire(thread: Worker, graceMs: number): Promise<void> {
  const exited = new Promise((resolve) => thread.once('exit', resolve));
  send(thread, { kind: 'retire', graceMs });
  await exited;
}
