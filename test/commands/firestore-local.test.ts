import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runProgram } from '../../scripts/harness/programs';

/** Tests the package as another project uses it: packed, installed without this repository, and called by the Admin SDK. */

const readme = readFileSync('packages/firestore-local/README.md', 'utf8');
const [, example = ''] = /```ts\n(.*?)```/s.exec(readme) ?? [];

test('the packed package runs the example of its README in an empty project', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'firestore-local-'));
  const run = async (command: string, args: string[], cwd = folder): Promise<string> =>
    (await runProgram(command, args, { cwd })).stdout;
  try {
    await run('npm', ['pack', '--workspace', 'firestore-local', '--pack-destination', folder], '.');
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    const options = ['--prefer-offline', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, './firestore-local-0.1.0.tgz']);
    const command = 'node_modules/.bin/firestore-local';
    expect(await run(process.execPath, [command, '--help'])).toContain('--indexes FILE');
    const admin = 'node_modules/firebase-admin';
    symlinkSync(resolve(admin), join(folder, admin));
    expect(example).toContain('startFirestore');
    writeFileSync(join(folder, 'example.mts'), example);
    await run(process.execPath, ['--experimental-strip-types', 'example.mts']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
