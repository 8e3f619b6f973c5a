import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { renderMarkdown } from '../../dev/pages/markdown';
import { cleanUp, temporaryFolder } from '../harness/local-server';
import { runProgram } from '../../dev/run/programs';

/** Tests that each `docs/` path in a file leads to an existing file and heading, and that links in the archive for partners work. */

const NOT_OURS = ['.dev', '.git', '.local-data', 'dist', 'node_modules'];
const TEXTS = ['.md', '.ts', '.mts', '.mjs', '.cjs', '.json', '.py', '.sh', '.yml', '.html', '.proto'];

const files = findFiles('.').filter((file) => TEXTS.includes(extname(file)));

function findFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.includes(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? findFiles(path) : [path];
    });
}

afterAll(cleanUp);

const findAnchors = (html: string) => [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);

/** Returns the files of `docs` that a file names by their paths from the root. */
const findNamed = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?<![\w./-])docs\/[\w./-]*\w(#[\w-]+)?/g)].map(([target]) => target);

const leadsNowhere = (target: string): boolean => {
  const [path = '', anchor] = target.split('#');
  if (!existsSync(path)) return true;
  if (anchor === undefined || !path.endsWith('.md')) return false;
  return !findAnchors(renderMarkdown(path, readFileSync(path, 'utf8')).html).includes(anchor);
};

test('each docs/ path in a file leads to an existing file and heading', () => {
  const dead = files.flatMap((file) => findNamed(file).map((target) => ({ file, target })));
  expect(dead.filter(({ target }) => leadsNowhere(target))).toEqual([]);
});

test('links within the archive for partners work, and no command of its pages needs this repository', async () => {
  const folder = temporaryFolder();
  // With this CDPATH, `cd deploy/..` would change to the wrong folder.
  const elsewhere = temporaryFolder();
  mkdirSync(join(elsewhere, 'deploy'));
  const env = { npm_config_ignore_scripts: 'true', npm_config_dry_run: 'true', CDPATH: elsewhere };
  await runProgram('bash', ['deploy/collect-for-partner.sh', folder], { env });
  const pages = findFiles(folder).filter((file) => file.endsWith('.html') && !file.includes('dashboard'));
  expect(pages.map((page) => relative(folder, page)).sort()).toEqual([
    'CHANGELOG.html',
    'api.html',
    'examples/client/README.html',
    'index.html',
    'integration-guide.html',
  ]);
  for (const page of pages) {
    const text = readFileSync(page, 'utf8');
    expect(text).not.toMatch(/npm (start|run|pack)|127\.0\.0\.1:5001|local-dev-key/);
    for (const [, link = ''] of text.matchAll(/href="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      expect([link, existsSync(target)]).toEqual([link, true]);
      if (anchor !== undefined) expect(findAnchors(readFileSync(target, 'utf8'))).toContain(anchor);
    }
  }
  const [, packed = 'none'] = /npm install (\S+\.tgz)/.exec(readFileSync(join(folder, 'index.html'), 'utf8')) ?? [];
  expect(readdirSync(folder)).toContain(packed);
  expect(readFileSync(join(folder, 'CHANGELOG.html'), 'utf8')).toContain('<li>');
});
