import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseParameters, readParameters } from '../check/parameters';

/**
 * firebase-tools 15.34.2 (lib/functions/env.js) reads the same values from these texts. It also accepts some of the lines
 * that are refused here, but reads values from them that their authors may not expect.
 */

test.each<[title: string, text: string, values: Record<string, string>]>([
  ['a value', 'A=1', { A: '1' }],
  ['no value', 'A=\nB=', { A: '', B: '' }],
  ['spaces around names and values', '  A = a, b \t\n', { A: 'a, b' }],
  ['no-break spaces', '\u00a0A\u00a0=\u00a0true\u00a0', { A: 'true' }],
  ['a byte order mark', '\ufeffA=1\nB=2', { A: '1', B: '2' }],
  ['CR and LF', 'A=1\r\nB=2\r\n', { A: '1', B: '2' }],
  ['comments', '# a\n  # b\nA=1 # c\nB=2#c\nC= # d', { A: '1', B: '2', C: '' }],
  ['double quotation marks', 'A="a # b" # c\nB=" \'x\' "\nC=""', { A: 'a # b', B: " 'x' ", C: '' }],
  ['single quotation marks', `A='a # b'\nB=' "x" '`, { A: 'a # b', B: ' "x" ' }],
  ['quotation marks inside a value', `A=https://'a.example'\nB=5"`, { A: "https://'a.example'", B: '5"' }],
  ['a backslash', 'A=a\\nb', { A: 'a\\nb' }],
  ['export', 'export A=1', { A: '1' }],
])('%s: every line is read', (_, text, values) => {
  expect(parseParameters(text)).toEqual({ values, invalidLines: [] });
});

test.each<[title: string, line: string]>([
  ['no equals sign', 'WRITES_PAUSED'],
  ['no name', '=1'],
  ['a name in lowercase', 'a=1'],
  ['a name that begins with a digit', '1A=1'],
  ['a quotation mark that does not end', 'A="1'],
  ['text after a closing quotation mark', 'A="1" 2'],
  ['a backslash in quotation marks', 'A="a\\nb"'],
  ['a carriage return alone', 'A=1\rB=2'],
  ['a carriage return alone in a comment', 'A=1 # c\rB=2'],
])('%s: the line is refused, and the other lines are read', (_, line) => {
  const { values, invalidLines } = parseParameters(`X=1\n${line}\nY=2`);
  expect([values, invalidLines]).toEqual([{ X: '1', Y: '2' }, [2]]);
});

test('a line that repeats a name is refused, even with the same value', () => {
  expect(parseParameters('A=1\nB=2\nA=1').invalidLines).toEqual([3]);
});

test('the values in the file of the project replace those in the file of all projects', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parameters-'));
  expect(readParameters('my-project', folder)).toEqual({ parameters: {}, invalidLines: [] });
  writeFileSync(join(folder, '.env'), 'A=1\nB=2\nC\n');
  writeFileSync(join(folder, '.env.my-project'), '\ufeffB=3\n: 4\n');
  writeFileSync(join(folder, '.env.other'), 'D=5\n');
  const invalidLines = [`${folder}/.env:3`, `${folder}/.env.my-project:2`];
  expect(readParameters('my-project', folder)).toEqual({ parameters: { A: '1', B: '3' }, invalidLines });
  rmSync(folder, { recursive: true });
});
