import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../support/programs';

/** The package as another project has it: packed, and installed alone beside the Admin SDK. */

const SAMPLE = `
const { initializeApp } = require('firebase-admin/app');
const { getFirestore } = require('firebase-admin/firestore');
const { startFirestore } = require('firestore-local');

async function main() {
  const server = await startFirestore({ port: 0, clock: () => Date.UTC(2026, 0, 1) });
  process.env.FIRESTORE_EMULATOR_HOST = server.address;
  initializeApp({ projectId: 'demo-sample' });
  const db = getFirestore();
  const city = db.doc('cities/nairobi');
  await city.set({ country: 'KE', visits: 1 });
  await db.runTransaction(async (transaction) => {
    const visits = (await transaction.get(city)).get('visits');
    transaction.update(city, { visits: visits + 1 });
  });
  const found = await db.collection('cities').where('country', '==', 'KE').get();
  console.log(found.docs.map((doc) => [doc.id, doc.get('visits'), doc.updateTime.toDate().getUTCFullYear()]).join());
  await db.terminate();
  await server.close();
}
main();
`;

/** The examples of the README as programs: one that imports nothing goes on where another began. */
const examples = [...readFileSync('packages/firestore-local/README.md', 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(
  ([, code = '']) =>
    code.startsWith('import')
      ? code
      : `import { startFirestore } from 'firestore-local';\n${code}\nawait server.close();\n`,
);

test('the packed package runs a sample of the Admin SDK and the examples of its README in an empty project, and its command starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'firestore-local-'));
  const run = async (command: string, args: string[], cwd: string): Promise<string> =>
    (await runProgram(command, args, { cwd })).stdout;
  try {
    await run('npm', ['pack', '--workspace', 'firestore-local', '--pack-destination', folder], '.');
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    writeFileSync(join(folder, 'sample.cjs'), SAMPLE);
    const install = (name: string): Promise<string> =>
      run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', name], folder);
    const command = 'node_modules/.bin/firestore-local';
    await install('./firestore-local-0.1.0.tgz');
    expect(await run(process.execPath, [command, '--help'], folder)).toContain('--indexes FILE');
    // The pages alone need the SDK.
    const withPages = runProgram(process.execPath, [command, '--port', '0', '--viewer', '0'], { cwd: folder });
    await expect(withPages).rejects.toThrow('npm install @google-cloud/firestore');
    await install('firebase-admin@14.5.1');
    expect(await run(process.execPath, ['sample.cjs'], folder)).toBe('nairobi,2,2026\n');
    expect(examples.length).toBe(3);
    for (const [i, code] of examples.entries()) {
      writeFileSync(join(folder, `example-${i}.mts`), code);
      await run(process.execPath, [`example-${i}.mts`], folder);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
