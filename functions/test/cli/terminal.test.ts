import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Terminal } from '../../cli/terminal';

/** @returns what `use` writes to a terminal, or to another output */
async function show(use: (terminal: Terminal) => void, isTTY = true): Promise<string> {
  const screen = Object.assign(new PassThrough(), { isTTY, columns: 80 });
  use(new Terminal({ stdin: new PassThrough(), stdout: screen, stderr: screen }));
  screen.end();
  return text(screen);
}

const draw = (terminal: Terminal, done: number, total = 10) => terminal.drawProgress(done, total, 'entries');

test('a progress bar grows on one line, and the line ends when the bar is full', async () => {
  const shown = await show((terminal) => {
    for (const written of [0, 5, 10]) draw(terminal, written);
    terminal.printError('Nothing was wrong.\n');
  });
  const bar = (full: number) => '█'.repeat(full) + '░'.repeat(40 - full);
  expect(shown.split('\r')).toEqual([
    '',
    `  ${bar(0)} 0 of 10 entries`,
    `  ${bar(20)} 5 of 10 entries`,
    `  ${bar(40)} 10 of 10 entries\nNothing was wrong.\n`,
  ]);
});

test('text that is printed while a progress bar is open starts on a new line', async () => {
  const shown = await show((terminal) => {
    draw(terminal, 5);
    terminal.printError('Failed.\n');
    terminal.printError('Again.\n');
    draw(terminal, 6);
    terminal.print('Found.\n');
  });
  expect(shown).toMatch(/ 5 of 10 entries\nFailed.\nAgain.\n\r[^\n]* 6 of 10 entries\nFound.\n$/);
});

test('a progress bar is cut to the width of the terminal', async () => {
  const shown = await show((terminal) => terminal.drawProgress(1_500, 3_000, `entries of "${'x'.repeat(100)}"`));
  expect(shown).toMatch(/^\r[^\n]{79}$/);
  expect(shown).toContain(' 1,500 of 3,000 entries of "xx');
});

test('without a total or a terminal no progress bar is drawn', async () => {
  expect(await show((terminal) => draw(terminal, 0, 0))).toBe('');
  expect(await show((terminal) => draw(terminal, 5), false)).toBe('');
});

test.each([
  ['Ctrl-D', '\u0004'],
  ['no answer', '\r'],
  ['another answer', 'no\r'],
])('%s at a question changes nothing', async (_, keys) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal({ stdin, stdout, stderr: stdout });
  const asked = terminal.confirm('Write?', new AbortController().signal);
  stdin.write(keys);
  await expect(asked).rejects.toThrow('Nothing was changed.');
});
