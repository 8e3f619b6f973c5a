import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { cruise, format } from 'dependency-cruiser';

/**
 * Draws who imports whom in docs/architecture.md, and fails on an import against
 * .dependency-cruiser.cjs. With --check it fails, too, if the picture is out of date, and writes
 * nothing.
 */

const FOLDERS = [
  'functions/src',
  'functions/audit',
  'functions/cli',
  'functions/test',
  'local',
  'packages',
  'bench',
  'test',
];
const PAGE = 'docs/architecture.md';
const PICTURE = /(?<=<!-- layers -->\n\n```mermaid\n).*?(?=```)/s;

const { imports, coldStart } = createRequire(import.meta.url)('../.dependency-cruiser.cjs');
const cruiseBy = ({ options, forbidden }, folders) =>
  cruise(folders, { ...options, validate: true, ruleSet: { forbidden } });
const cruised = [await cruiseBy(imports, FOLDERS), await cruiseBy(coldStart, ['functions/src'])];
const reports = await Promise.all(cruised.map(({ output }) => format(output, { outputType: 'err-long' })));
for (const { output, exitCode } of reports) if (exitCode > 0) console.error(output);

if (reports.some(({ exitCode }) => exitCode > 0)) process.exitCode = 1;
else await updatePicture(process.argv.includes('--check'));

async function updatePicture(isCheck) {
  const page = await readFile(PAGE, 'utf8');
  const drawn = page.replace(PICTURE, drawLayers(cruised[0].output.modules));
  if (drawn === page) return;
  if (!isCheck) return writeFile(PAGE, drawn);
  console.error(`The picture in ${PAGE} is out of date: npm run generate`);
  process.exitCode = 1;
}

/** The imports between boxes; those of `lib` are left out, since every box has them. */
function drawLayers(modules) {
  const arrows = new Set();
  for (const { source, dependencies } of modules) {
    for (const { resolved } of dependencies) {
      const [from, to] = [getBox(source), getBox(resolved)];
      if (from !== undefined && to !== undefined && from !== to && to !== 'lib') arrows.add(`  ${from} --> ${to}\n`);
    }
  }
  return `flowchart LR\n${[...arrows].sort().join('')}`;
}

/** A box is a folder of functions/src, of its lib, or of functions; the files of operations are one. */
function getBox(file) {
  const [, box] = /^functions\/(?:src\/(?:lib\/)?)?([\w-]+)\//.exec(file) ?? [];
  if (box === 'src') return file.endsWith('/index.ts') ? undefined : 'operations';
  return box === 'test' ? undefined : box;
}
