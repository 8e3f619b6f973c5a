import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCheckout, editFile } from '../support/checkout';
import { cleanUp } from '../support/local-server';
import { runProgramSync } from '../support/programs';

/** `scripts/build.mjs --if-changed`, by which `npm start` builds. */

afterAll(cleanUp);

const folder = createCheckout();
const output = join(folder, 'functions/dist/getTeams.cjs');

function buildIfChanged(): { isBuilt: boolean; code: string } {
  const before = statSync(output, { throwIfNoEntry: false })?.ctimeMs;
  runProgramSync(process.execPath, ['scripts/build.mjs', '--if-changed'], { cwd: folder });
  return { isBuilt: statSync(output).ctimeMs !== before, code: readFileSync(output, 'utf8') };
}

test('builds the first time, and again only after a change of what a build reads or writes', () => {
  // One function is built as all are, and faster.
  writeFileSync(join(folder, 'functions/src/index.ts'), "export { getTeams } from './get-teams';\n");
  const { isBuilt, code } = buildIfChanged();
  expect(isBuilt).toBe(true);
  expect(buildIfChanged()).toEqual({ isBuilt: false, code });

  editFile(join(folder, 'functions/src/get-teams.ts'), 'export const', 'globalThis.isRebuilt = true;\nexport const');
  const changed = buildIfChanged();
  expect(changed.code).toContain('globalThis.isRebuilt = true');
  expect(buildIfChanged()).toEqual({ isBuilt: false, code: changed.code });

  appendFileSync(output, 'damaged');
  expect(buildIfChanged()).toEqual({ isBuilt: true, code: changed.code });
});
