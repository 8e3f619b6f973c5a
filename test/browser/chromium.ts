import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import puppeteer, { type Browser } from 'puppeteer-core';
import { devDependencies } from '../../package.json';
import { createProgramEnvironment, runProgram } from '../../dev/run/programs';

/**
 * Starts a headless Chromium from an npm package, with fonts and the libraries that a bare Linux machine
 * lacks. `CHROMIUM_PATH` can name another browser to start instead.
 */

/** The folder to which this version of the package is unpacked once. */
const UNPACKED = resolve('node_modules/.cache', `chromium-${devDependencies['@sparticuz/chromium']}`);

/**
 * Unpacks the package, which adds its libraries only on Amazon Linux. `unpack` sets the variable by which the package recognises
 * Amazon Linux.
 */
const UNPACK = "import chromium from '@sparticuz/chromium'; await chromium.executablePath()";

/**
 * Names the unpacked fonts, because the package looks for fonts in the place that Amazon uses. Without fonts, an input
 * field crashes Chromium.
 */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(UNPACKED, 'fonts', 'fonts')}</dir>
  <cachedir>${join(UNPACKED, 'fonts', 'cache')}</cachedir>
</fontconfig>
`;

/** There is no sandbox, because containers seldom allow root to have one. */
const FLAGS = [
  '--no-sandbox',
  '--no-zygote',
  '--no-proxy-server',
  // No host name except localhost resolves.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/**
 * Starts a browser with its own profile, which {@link Browser.close} removes.
 *
 * @throws Error if the package has no browser for this machine (the message says what to do), or if the browser cannot start
 */
export async function launchChromium(): Promise<Browser> {
  const { executablePath, env } = await locateChromium();
  return puppeteer.launch({
    executablePath,
    env: createProgramEnvironment(env),
    headless: 'shell',
    args: FLAGS,
    timeout: 60_000,
  });
}

interface Chromium {
  executablePath: string;
  env: Record<string, string>;
}

async function locateChromium(): Promise<Chromium> {
  const chosen = process.env['CHROMIUM_PATH'];
  if (chosen !== undefined && chosen !== '') return { executablePath: chosen, env: {} };
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      'The packaged Chromium needs Linux on x64. Set CHROMIUM_PATH to a Chrome or Chromium on this machine.',
    );
  }
  if (!existsSync(UNPACKED)) await unpack();
  return {
    executablePath: join(UNPACKED, 'chromium'),
    env: { FONTCONFIG_FILE: join(UNPACKED, 'fonts.conf'), LD_LIBRARY_PATH: join(UNPACKED, 'al2023', 'lib') },
  };
}

/** Unpacks into a temporary folder and renames it, so that no other test finds an incomplete browser. */
async function unpack(): Promise<void> {
  await mkdir(resolve(UNPACKED, '..'), { recursive: true });
  const place = await mkdtemp(`${UNPACKED}-`);
  const env = { TMPDIR: place, AWS_LAMBDA_JS_RUNTIME: 'nodejs24.x' };
  await runProgram(process.execPath, ['--input-type=module', '-e', UNPACK], { env, cwd: 'test/browser' });
  await writeFile(join(place, 'fonts.conf'), FONTS);
  try {
    await rename(place, UNPACKED);
  } catch (error) {
    // Another test may have unpacked the package first.
    await rm(place, { recursive: true });
    if (!existsSync(UNPACKED)) throw error;
  }
}
