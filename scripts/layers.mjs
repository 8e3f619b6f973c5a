import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { cruise, format } from 'dependency-cruiser';

const FOLDERS = [
  'functions/src',
  'functions/audit',
  'functions/cli',
  'functions/records',
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

/** Draws the imports between the layers. @throws Error on an import that .dependency-cruiser.cjs forbids */
export async function generateLayers() {
  const cruised = [await cruiseBy(imports, FOLDERS), await cruiseBy(coldStart, ['functions/src'])];
  const reports = await Promise.all(cruised.map(({ output }) => format(output, { outputType: 'err-long' })));
  const forbidden = reports.filter(({ exitCode }) => exitCode > 0).map(({ output }) => output);
  if (forbidden.length > 0) throw new Error(forbidden.join('\n'));
  return { [PAGE]: (await readFile(PAGE, 'utf8')).replace(PICTURE, drawLayers(cruised[0].output.modules)) };
}

/** Draws the imports between boxes. Leaves out imports of `lib`, which every box has. */
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

/** @returns the box of a file: a folder of functions/src, of its lib, or of functions. All operations share one box. */
function getBox(file) {
  const [, box] = /^functions\/(?:src\/(?:lib\/)?)?([\w-]+)\//.exec(file) ?? [];
  if (box === 'src') return file.endsWith('/index.ts') ? undefined : 'operations';
  return box === 'test' ? undefined : box;
}
