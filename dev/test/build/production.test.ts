import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from '../../../test/harness/local-server';
import { runProgram, runProgramSync } from '../../run/programs';

/** Tests what bundled programs load and print, and how a program ends when its output is closed. */

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
  await runProgram(process.execPath, ['dev/build/bundle-programs.mjs', join(folder, 'programs')]);
});
afterAll(cleanUp);

test('the bundled command does not load supports-color from a folder above it, even if a proxy is set', () => {
  const planted = join(folder, 'node_modules', 'supports-color');
  mkdirSync(planted, { recursive: true });
  writeFileSync(join(planted, 'index.js'), 'console.log("planted"); process.exit(3);');
  const env = {
    HTTPS_PROXY: 'http://127.0.0.1:1',
    https_proxy: 'http://127.0.0.1:1',
    GOOGLE_APPLICATION_CREDENTIALS: '/none',
  };
  const program = join(folder, 'programs', 'price-lists.cjs');
  const { status, stdout, stderr } = runProgramSync(process.execPath, [program, 'list', '--project', 'a-project'], {
    env,
  });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^Project a-project, in production\n\nNo usable Google credentials were found: .*\n$/);
});

test('on an older Node, the bundled command says which version it needs, without advice about npm', () => {
  const version = join(folder, 'version.cjs');
  writeFileSync(
    version,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });`,
  );
  const program = join(folder, 'programs', 'price-lists.cjs');
  const { status, stderr } = runProgramSync(process.execPath, ['--require', version, program, 'list']);
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^This program needs Node \S+ or later, but runs on Node 20\.20\.2\. Install a newer version\.\n$/,
    ),
  ]);
});

test('a program whose output is closed ends without a stack trace', () => {
  const program = join(folder, 'long.mjs');
  const module = JSON.stringify(join(process.cwd(), 'dev/program.mjs'));
  writeFileSync(
    program,
    `import { readArguments } from ${module}; readArguments('');
     setInterval(() => console.log('x'.repeat(100_000)), 1);`,
  );
  const { status, stderr } = runProgramSync('bash', [
    '-c',
    '"$0" "$1" | head -c 1 > /dev/null; exit "${PIPESTATUS[0]}"',
    process.execPath,
    program,
  ]);
  expect([status, stderr]).toEqual([1, '']);
});
