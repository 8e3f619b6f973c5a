import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/**
 * Packages that few tests need, such as a browser. Each folder has a package.json and a lock file of its own, so that `npm ci`
 * leaves them out. A test installs its folder when it first runs; `npm run check` installs all, since it reads their types.
 */

const run = promisify(execFile);

export const TOOL_FOLDERS = [
  'scripts/layers',
  'scripts/messages',
  'scripts/openapi',
  'test/browser',
  'test/forge',
] as const;

/** In an installed node_modules: the hash of the lock file that it was installed from. */
const MARKER = '.lock-sha256';

/**
 * Installs a folder's packages from its lock file, unless exactly these are installed.
 *
 * @throws when npm fails, with the command to run by hand
 */
export async function installToolPackages(folder: (typeof TOOL_FOLDERS)[number]): Promise<void> {
  const installed = resolve(folder, 'node_modules');
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8');
  const hash = createHash('sha256').update(lock.replaceAll('\r\n', '\n')).digest('hex');
  if ((await readMarker(installed)) === hash) return;

  // Installed in another place and moved, so that a second process never finds half of the packages.
  const cache = resolve('node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const place = await mkdtemp(join(cache, 'tools-'));
  try {
    for (const file of ['package.json', '.npmrc']) {
      if (existsSync(join(folder, file))) await cp(join(folder, file), join(place, file));
    }
    await writeFile(join(place, 'package-lock.json'), lock);
    await runNpmCi(place, folder);
    await writeFile(join(place, 'node_modules', MARKER), hash);
    if (existsSync(installed)) await rename(installed, join(place, 'replaced'));
    await rename(join(place, 'node_modules'), installed);
  } catch (error) {
    if ((await readMarker(installed)) !== hash) throw error;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

const readMarker = (installed: string): Promise<string | undefined> =>
  readFile(join(installed, MARKER), 'utf8').catch(() => undefined);

async function runNpmCi(place: string, folder: string): Promise<void> {
  const args = ['ci', '--prefix', place, '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  const npm = process.env['npm_execpath'];
  try {
    // Under `npm run` npm's own program is known; otherwise it is found on the PATH, on Windows as npm.cmd by the shell.
    if (npm?.endsWith('.js') === true) await run(process.execPath, [npm, ...args]);
    else await run('npm', args, { shell: process.platform === 'win32' });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const reason = stderr.split('\n').find((line) => line.startsWith('npm error')) ?? String(error);
    throw new Error(`The packages of ${folder} are missing. Run: npm ci --prefix ${folder} (${reason})`);
  }
}
