import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Terminal } from '../../cli/terminal';

/** @returns what a terminal shows of `use` */
async function show(use: (terminal: Terminal) => void, isTTY = true): Promise<string> {
  const stderr = Object.assign(new PassThrough(), { isTTY });
  use(new Terminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }));
  stderr.end();
  return text(stderr);
}

const draw = (terminal: Terminal, done: number, total = 10) => terminal.drawProgress(done, total, 'entries');

test('a bar grows on its line, which ends with it', async () => {
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

test('an error in the middle of a bar has a line of its own', async () => {
  const shown = await show((terminal) => {
    draw(terminal, 5);
    terminal.printError('Failed.\n');
    terminal.printError('Again.\n');
  });
  expect(shown).toMatch(/ 5 of 10 entries\nFailed.\nAgain.\n$/);
});

test('there is no bar without entries, nor without a terminal', async () => {
  expect(await show((terminal) => draw(terminal, 0, 0))).toBe('');
  expect(await show((terminal) => draw(terminal, 5), false)).toBe('');
});
