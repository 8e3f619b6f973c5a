import { PassThrough } from 'node:stream';
import { Terminal } from '../../cli/terminal';

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
