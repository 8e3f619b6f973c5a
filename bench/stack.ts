import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

/**
 * The processes that a bench runs: one embedded Firestore, and for each thing that is measured a Node of its own behind
 * the Functions Framework, all of them started alike.
 */

/** What is measured side by side. */
export const variants = ['service', 'floor', 'first'] as const;
export type Variant = (typeof variants)[number];

export const PROJECT = 'demo-price-lists';
export const KEY = 'bench-key';

/** In node_modules, so that what is not bundled is found from there. */
const BUILD = path.resolve('node_modules/.cache/bench');
const PERFORMANCE = 'functions/test/performance';

/** The file that a variant is deployed as. */
export const bundles: Record<Variant | 'bare', string> = {
  service: path.resolve('functions/dist/index.cjs'),
  floor: path.join(BUILD, 'floor.cjs'),
  first: path.join(BUILD, 'first-version.cjs'),
  bare: path.join(BUILD, 'bare.cjs'),
};

/**
 * Builds everything but the service, which is measured as `npm run build` has built it: the floor as one file like the
 * service, the first version and the bare function beside their node_modules.
 */
export async function buildVariants(): Promise<void> {
  mkdirSync(BUILD, { recursive: true });
  const common = { bundle: true, platform: 'node', target: 'node24', format: 'cjs', logLevel: 'warning' } as const;
  const framework = ['@google-cloud/functions-framework'];
  const judging = path.resolve(PERFORMANCE, 'judging.ts');
  await build({ ...common, entryPoints: [`${PERFORMANCE}/floor.ts`], outfile: bundles.floor, external: framework });
  for (const name of ['first', 'bare'] as const) {
    const entry = `${PERFORMANCE}/${path.basename(bundles[name], '.cjs')}.ts`;
    await build({ ...common, entryPoints: [entry], outfile: bundles[name], packages: 'external' });
  }
  await build({ ...common, entryPoints: [judging], outfile: path.join(BUILD, 'judging.cjs') });
}

/** Runs the measurement of judging in a process of its own. */
export async function runJudging(products: number, runs: number): Promise<Record<string, number>> {
  const script = path.join(BUILD, 'judge.cjs');
  const text = `process.send(require('./judging.cjs').timeJudging(${products}, ${runs}), () => process.disconnect());`;
  writeFileSync(script, text);
  const child = fork(script);
  const [times] = (await once(child, 'message')) as [Record<string, number>];
  return times;
}

/** The embedded Firestore of a bench. */
export interface Database {
  address: string;
  /** How many calls have arrived so far. */
  calls: () => Promise<number>;
  /** Drops all data. */
  clear: () => Promise<void>;
  stop: () => Promise<void>;
}

export async function startDatabase(): Promise<Database> {
  const child = fork('bench/firestore.ts', { execArgv: ['--import', 'tsx', '--max-old-space-size=12000'] });
  const [{ address }] = (await once(child, 'message')) as [{ address: string }];
  const ask = async (what: string): Promise<number> => {
    child.send(what);
    const [{ calls }] = (await once(child, 'message')) as [{ calls: number }];
    return calls;
  };
  return {
    address,
    calls: () => ask('counts'),
    clear: async () => {
      await ask('clear');
    },
    stop: () => stop(child),
  };
}

/** A function that runs. */
export interface Running {
  port: number;
  pid: number;
  /** Processor time used so far, in milliseconds. */
  cpuMs: () => Promise<number>;
  /** Memory that is in use after a collection of garbage, in megabytes; with `--expose-gc` only. */
  liveMb: () => Promise<number>;
  stop: () => Promise<void>;
}

/** The environment that a function finds. */
export const environment = (address: string): NodeJS.ProcessEnv => ({
  ...process.env,
  FIRESTORE_EMULATOR_HOST: address,
  GCLOUD_PROJECT: PROJECT,
  API_KEY: KEY,
});

/** Starts a function; `execArgv` are options of its Node. */
export async function startFunction(
  variant: Variant,
  name: string,
  address: string,
  execArgv: string[] = [],
): Promise<Running> {
  const child = fork('bench/child.mjs', [bundles[variant], name], {
    env: environment(address),
    // What the libraries of the first version warn of is not ours to mend.
    execArgv: ['--no-deprecation', ...execArgv],
    // The log goes nowhere, as fast as to anywhere.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const ask = async (figure: string): Promise<number> => {
    child.send(figure);
    const [value] = (await once(child, 'message')) as [number];
    return value;
  };
  return {
    port,
    pid: child.pid ?? 0,
    cpuMs: () => ask('cpuMs'),
    liveMb: () => ask('liveMb'),
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.disconnect();
  await exited;
}

const MB = 1_000_000;

/** The resident memory of a process in megabytes (10⁶ bytes), now and at its peak; Linux only, NaN elsewhere. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const of = (text: string, name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)?.[1]) * 1024) / MB;
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return { now: of(status, 'VmRSS'), peak: of(status, 'VmHWM') };
  } catch {
    return { now: NaN, peak: NaN };
  }
}

/** Starts a new peak, at what the process has now. */
export function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Not Linux: memoryOf knows nothing either.
  }
}
