import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import manifest from '../../package.json';
import prettierOptions from '../../.prettierrc.json';
import functionsManifest from '../../functions/package.json';
import openApi from '../../docs/openapi.json';

/** What has to hold on systems that these tests do not run on: Windows, macOS with zsh, a checkout with autocrlf. */

const trackedFiles = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean);

describe('npm scripts', () => {
  /** What works in sh and not in cmd.exe. */
  const UNPORTABLE: [name: string, pattern: RegExp][] = [
    ['exec', /(^|\s)exec\s/],
    ['a variable in front of a command', /(^|&&\s*)\w+=/],
    ['an expansion', /[$`]/],
    ['single quotes', /'/],
    ['a shell', /(^|\s)(ba|z)?sh\s/],
    ['; between commands', /;/],
    ['a program of POSIX', /(^|&&\s*)(rm|cp|mv|mkdir|cat|test|sed|grep|export|source|\.\/)/],
    ['a redirection', /[<>]|\|(?!\|)/],
  ];

  test.each(Object.entries(manifest.scripts))('%s runs in cmd.exe as in sh', (_, command) => {
    expect(UNPORTABLE.filter(([, pattern]) => pattern.test(command)).map(([name]) => name)).toEqual([]);
  });

  test.each([
    ['exec node a.ts', 'exec'],
    ['npm run build && X=1 jest', 'a variable in front of a command'],
    ['jest ${A:-1}', 'an expansion'],
    ['bash a.sh', 'a shell'],
    ['rm -rf dist && node a.js', 'a program of POSIX'],
  ])('the rules find %j', (command, name) => {
    expect(UNPORTABLE.filter(([, pattern]) => pattern.test(command)).map(([each]) => each)).toContain(name);
  });

  test.each(Object.entries(manifest.scripts))('%s says in one sentence what is missing to run it', (name, command) => {
    // npm's own commands need no packages; the installation itself runs before there are any.
    if (name === 'postinstall' || command.startsWith('npm audit')) return;
    const first = command.split('&&')[0]?.trim() ?? '';
    const script = /^npm run --silent ([\w:]+)/.exec(first)?.[1];
    const starts =
      script === undefined ? first : (Object.entries(manifest.scripts).find(([each]) => each === script)?.[1] ?? '');
    expect(starts).toMatch(/^(node --import \.\/scripts\/preflight\.mjs |npm run --silent build )/);
  });
});

describe('commands in the documents', () => {
  const commands = trackedFiles
    .filter((file) => /^(README|CONTRIBUTING|docs\/[\w-]+)\.md$/.test(file))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/^ *```(?:bash|sh)\n(.*?)^ *```/gms)].flatMap(([, block = '']) =>
        block
          .split('\n')
          .filter((line) => !/^\s*#/.test(line))
          .map((line): [string, string] => [file, line]),
      ),
    );

  test('there are some', () => {
    expect(commands.length).toBeGreaterThan(20);
  });

  // An interactive zsh takes # for an argument, and stops at a pattern without a match.
  test('none has a comment behind it, which an interactive zsh would pass on', () => {
    expect(commands.filter(([, line]) => /\S.*\s#(\s|$)/.test(line.replaceAll(/'[^']*'|"[^"]*"/g, '')))).toEqual([]);
  });

  test('none has an unquoted ? or [ in an address, which zsh would expand', () => {
    expect(commands.filter(([, line]) => /https?:\S*[?[]/.test(line.replaceAll(/'[^']*'|"[^"]*"/g, '')))).toEqual([]);
  });
});

describe('files', () => {
  test('git checks every text file out with LF, for any autocrlf', () => {
    const attributes = execFileSync('git', ['check-attr', '--stdin', '-z', 'text', 'eol'], {
      input: trackedFiles.join('\0'),
      encoding: 'utf8',
    }).split('\0');
    for (let index = 0; index + 2 < attributes.length; index += 3) {
      const [file, name, value] = attributes.slice(index, index + 3);
      if (name === 'eol' && !/\.(png|gz)$/.test(file ?? '')) expect([file, value]).toEqual([file, 'lf']);
    }
  });

  test('no file has CRLF, or a name that Windows does not take', () => {
    const eols = execFileSync('git', ['ls-files', '--eol'], { encoding: 'utf8' });
    expect(eols.split('\n').filter((line) => /^i\/(crlf|mixed)/.test(line))).toEqual([]);
    expect(trackedFiles.filter((file) => /[<>:"|?*\\]|[ .]$/.test(file))).toEqual([]);
    const lowercase = trackedFiles.map((file) => file.toLowerCase());
    expect(new Set(lowercase).size).toBe(lowercase.length);
  });

  test('.editorconfig and prettier agree', () => {
    const editor = readFileSync('.editorconfig', 'utf8');
    expect(editor).toContain(`max_line_length = ${prettierOptions.printWidth}`);
    expect(editor).toContain('indent_size = 2');
    expect(editor).toContain('end_of_line = lf');
  });
});

describe('versions', () => {
  const node = readFileSync('.nvmrc', 'utf8').trim();
  const { functions } = JSON.parse(readFileSync('firebase.json', 'utf8')) as { functions: [{ runtime: string }] };

  test('.nvmrc, the Node packages and the runtime of the functions are one line of Node', () => {
    const major = node.split('.')[0] ?? '';
    expect(new Set(Object.values(manifest.optionalDependencies))).toEqual(new Set([node]));
    expect(functions[0].runtime).toBe(`nodejs${major}`);
    expect(manifest.devDependencies['@types/node'].split('.')[0]).toBe(major);
  });

  test('engines asks for less than .nvmrc, and a document says why', () => {
    expect(manifest.engines.node).toBe('>=20');
    expect(functionsManifest).not.toHaveProperty('engines');
    const page = readFileSync('docs/deployment.md', 'utf8');
    expect(page).toContain('## Node versions');
  });

  test('the newest version of the changelog has a date, and is that of the packages and of the description', () => {
    const [, version, date] =
      /^## \[?(\d+\.\d+\.\d+)\]? - (\d{4}-\d{2}-\d{2})$/m.exec(readFileSync('CHANGELOG.md', 'utf8')) ?? [];
    expect(version).toBe(manifest.version);
    expect(functionsManifest.version).toBe(manifest.version);
    expect(openApi.info.version).toBe(manifest.version);
    expect(Date.parse(date ?? '')).not.toBeNaN();
  });
});
