import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { installDeployPackage, startDeployedFunction, type DeployedFunction } from '../dev/run/deployed';
import { engines } from '../package.json';

/** The processes of the benchmark: the embedded Firestore and the measured functions. */

/** The programs in bench/variants, with which the benchmark compares the service. */
const BASELINES = ['sdk', 'sdk-stream', 'bare'] as const;

export type Variant = 'service' | (typeof BASELINES)[number];

export const BENCH_API_KEY = 'bench-key';

/** This folder is in node_modules, so that the variants find the packages that are not bundled. */
const BUILD = path.resolve('node_modules/.cache/bench');

const getFolder = (variant: Variant): string =>
  (variant === 'service' ? service : undefined) ?? path.join(BUILD, variant);

let service: string | undefined;

/** Builds the programs of bench/variants, and installs the service as it is deployed. */
export async function buildVariants(): Promise<void> {
  rmSync(BUILD, { recursive: true, force: true });
  await build({
    bundle: true,
    platform: 'node',
    target: `node${engines.node.slice('>='.length)}`,
    format: 'cjs',
    logLevel: 'warning',
    packages: 'external',
    entryPoints: BASELINES.map((name) => `bench/variants/${name}.ts`),
    entryNames: '[name]/index',
    outdir: BUILD,
  });
  const folder = await installDeployPackage();
  service = folder;
  process.once('exit', () => rmSync(folder, { recursive: true }));
}

export interface BenchDatabase {
  address: string;
  /** Returns the number of calls that the database has received. */
  calls: () => Promise<number>;
  /** Replaces all data with the markets and, for each number in `orders`, that many orders of one team. */
  fill: (orders: readonly number[]) => Promise<void>;
  stop: () => Promise<void>;
}

export async function startDatabase(): Promise<BenchDatabase> {
  const child = fork('bench/firestore.ts', {
    execArgv: ['--import', 'tsx', '--max-old-space-size=12000'],
  });
  // If the database ends, this process has nothing to wait for and would exit with 0.
  child.once('exit', (code) => (process.exitCode ??= code ?? 1));
  const [{ address }] = (await once(child, 'message')) as [{ address: string }];
  const ask = async (orders: readonly number[] | null): Promise<number> => {
    child.send({ orders });
    const [{ calls }] = (await once(child, 'message')) as [{ calls: number }];
    return calls;
  };
  return {
    address,
    calls: () => ask(null),
    fill: async (orders) => {
      await ask(orders);
    },
    stop: async () => {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Starts a function as in production. @param env environment variables besides those that every function gets */
export const startFunction = (
  variant: Variant,
  name: string,
  { address }: BenchDatabase,
  env: Record<string, string> = {},
): Promise<DeployedFunction> =>
  startDeployedFunction(getFolder(variant), name, {
    API_KEY: BENCH_API_KEY,
    CORS_ALLOWED_ORIGINS: '',
    FIRESTORE_EMULATOR_HOST: address,
    METADATA_SERVER_DETECTION: 'none',
    ...env,
  });

/** Reads the processor time of a process in ms. Linux counts in hundredths of a second. On other systems, the result is NaN. */
export function readProcessorMs(pid: number): number {
  if (process.platform !== 'linux') return NaN;
  // The name of the program can contain spaces, so only the fields after it are split.
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}
