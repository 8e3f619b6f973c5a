import { PassThrough } from 'node:stream';
import { Terminal } from '../../cli/terminal';

test.each([
  ['The end of the input, as by Ctrl-D,', ''],
  ['No answer', '\n'],
  ['An answer other than yes', 'no\n'],
])('%s at a question changes nothing, and the terminal keeps its mode', async (_, text) => {
  const setRawMode = jest.fn();
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal({ stdin, stdout, stderr: stdout });
  const asked = terminal.confirm('Write?', new AbortController().signal);
  stdin.end(text);
  await expect(asked).rejects.toThrow('Nothing was changed.');
  // In raw mode, Ctrl-C and Ctrl-Z would send no signal.
  expect(setRawMode).not.toHaveBeenCalled();
});
