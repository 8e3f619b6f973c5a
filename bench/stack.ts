import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { PROJECT_ID } from './data';

/** The processes of the bench: one embedded Firestore, and one Node process per measured function. */

/** Measured side by side. */
export const variants = ['service', 'sdk'] as const;
export type Variant = (typeof variants)[number];

/** Measured beside them for the processor time of a large read (variants/bytes.ts). */
export type Baseline = 'bytes';

/** The functions that are measured, as the manifest of a deployment names them. */
export const operations = [
  'getMarkets',
  'getTeams',
  'getWarehouses',
  'getOrdersByTeam',
  'supplyOrdersInvoices',
  'addPriceLists',
] as const;
export type Operation = (typeof operations)[number];

export const BENCH_API_KEY = 'bench-key';

/** In node_modules, from where the variants resolve the packages that are not bundled. */
const BUILD = path.resolve('node_modules/.cache/bench');
const VARIANTS = 'bench/variants';

/** The file that each variant is loaded from. */
export const bundles: Record<Variant | Baseline, string> = {
  service: path.resolve('functions/dist/index.cjs'),
  sdk: path.join(BUILD, 'sdk.cjs'),
  bytes: path.join(BUILD, 'bytes.cjs'),
};

/** The packages whose cold starts are compared. */
export const packages = {
  /** The service as it is deployed, with the compile cache that `gcp-build` makes. */
  service: path.join(BUILD, 'service/index.cjs'),
  /** A function that does nothing, as such a function is usually deployed: beside its node_modules, without a cache. */
  bare: path.join(BUILD, 'bare.cjs'),
  /** The same function in one bundle, with a compile cache made alike. */
  bareCached: path.join(BUILD, 'bare/index.cjs'),
};

/** Builds every variant. The service is measured as `npm run build` has built it. */
export async function buildVariants(): Promise<void> {
  mkdirSync(BUILD, { recursive: true });
  const common = { bundle: true, platform: 'node', target: 'node24', format: 'cjs', logLevel: 'warning' } as const;
  const bundled = { ...common, external: ['@google-cloud/functions-framework'] };
  for (const name of ['sdk', 'bytes'] as const) {
    await build({ ...bundled, entryPoints: [`${VARIANTS}/${name}.ts`], outfile: bundles[name] });
  }
  const bare = [`${VARIANTS}/bare.ts`];
  await build({ ...common, entryPoints: bare, outfile: packages.bare, packages: 'external' });
  const validation = path.resolve('bench/validation.ts');
  await build({ ...common, entryPoints: [validation], outfile: path.join(BUILD, 'validation.cjs') });
  await build({
    ...bundled,
    entryPoints: bare,
    outfile: path.join(path.dirname(packages.bareCached), 'bare.cjs'),
  });
  buildCachedPackages();
}

/** Makes the compile caches as `gcp-build` does. Caches hold absolute paths, so each package is built where it is run. */
function buildCachedPackages(): void {
  const dist = path.dirname(bundles.service);
  const [service, bare] = [path.dirname(packages.service), path.dirname(packages.bareCached)];
  rmSync(service, { recursive: true, force: true });
  mkdirSync(service, { recursive: true });
  const files = readdirSync(dist).filter((file) => /\.(cjs|json)$/.test(file));
  for (const file of files) copyFileSync(path.join(dist, file), path.join(service, file));
  rmSync(path.join(bare, '.compile-cache'), { recursive: true, force: true });
  copyFileSync(path.join(dist, 'compile-cache.cjs'), path.join(bare, 'compile-cache.cjs'));
  const enable = "require('./compile-cache.cjs').enable();";
  writeFileSync(packages.bareCached, `'use strict';\n${enable}\nmodule.exports = require('./bare.cjs');\n`);
  for (const folder of [service, bare]) {
    execFileSync(process.execPath, ['--no-deprecation', 'compile-cache.cjs'], { cwd: folder, stdio: 'inherit' });
  }
}

/** Measures validation in a process of its own. */
export async function runValidationBenchmark(products: number, runs: number): Promise<Record<string, number>> {
  const script = path.join(BUILD, 'run-validation.cjs');
  const text = `process.send(require('./validation.cjs').measureValidation(${products}, ${runs}), () => process.disconnect());`;
  writeFileSync(script, text);
  const child = fork(script);
  const [times] = (await once(child, 'message')) as [Record<string, number>];
  return times;
}

/** Asks the database for other data. */
export interface FillRequest {
  teams: number;
  orders: readonly number[];
}

/** The embedded Firestore of a bench. */
export interface BenchDatabase {
  address: string;
  /** RPCs received so far. */
  calls: () => Promise<number>;
  /** Has {@link createRecords} in place of all data. */
  fill: (teams: number, orders: readonly number[]) => Promise<void>;
  stop: () => Promise<void>;
}

export async function startDatabase(): Promise<BenchDatabase> {
  const child = fork('bench/firestore.ts', { execArgv: ['--import', 'tsx', '--max-old-space-size=12000'] });
  // Nothing would respond any more, and a process that waits for nothing exits with 0.
  child.once('exit', (code) => (process.exitCode ??= code ?? 1));
  const [{ address }] = (await once(child, 'message')) as [{ address: string }];
  const ask = async (message: FillRequest | 'counts'): Promise<number> => {
    child.send(message);
    const [{ calls }] = (await once(child, 'message')) as [{ calls: number }];
    return calls;
  };
  return {
    address,
    calls: () => ask('counts'),
    fill: async (teams, orders) => {
      await ask({ teams, orders });
    },
    stop: () => stop(child),
  };
}

/** A running function. */
export interface FunctionProcess {
  port: number;
  pid: number;
  /** Processor time so far, in ms. */
  cpuMs: () => Promise<number>;
  /** Heap and buffers after garbage collection, in MB; requires `--expose-gc`. */
  liveMb: () => Promise<number>;
  stop: () => Promise<void>;
}

export const createFunctionEnv = (address: string): NodeJS.ProcessEnv => ({
  ...process.env,
  FIRESTORE_EMULATOR_HOST: address,
  GCLOUD_PROJECT: PROJECT_ID,
  // As with Firebase's emulator: the Firestore SDK does not look for credentials that are not needed.
  METADATA_SERVER_DETECTION: 'none',
  API_KEY: BENCH_API_KEY,
});

/** @param execArgv options of Node */
export async function startFunction(
  variant: Variant | Baseline,
  name: string,
  address: string,
  execArgv: string[] = [],
): Promise<FunctionProcess> {
  const child = fork('bench/child.mjs', [bundles[variant], name], {
    env: createFunctionEnv(address),
    execArgv,
    // Discards the log.
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

/** Resident memory in MB (10⁶ bytes), current and peak; NaN except on Linux. */
export function readProcessMemory(pid: number): { now: number; peak: number } {
  const of = (text: string, name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)?.[1]) * 1024) / MB;
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return { now: of(status, 'VmRSS'), peak: of(status, 'VmHWM') };
  } catch {
    return { now: NaN, peak: NaN };
  }
}

/** Resets the peak to the current value. */
export function resetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Not Linux: the peak is NaN anyway.
  }
}
