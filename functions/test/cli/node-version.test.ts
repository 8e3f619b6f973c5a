import { startInstance } from '../../src/lib/http/instance';
import { runCommand } from './command';

/** What runs on an older Node, as Firebase's emulators run the functions, says so at once. */

const SENTENCE = 'This needs Node 22 or later, but Node 20.20.2 runs it.';
const { versions } = process;

beforeAll(() => Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.20.2' } }));
afterAll(() => Object.defineProperty(process, 'versions', { value: versions }));

test('a function fails when it is loaded, in place of answering 500', () => {
  expect(startInstance).toThrow(SENTENCE);
});

test('the operator’s command fails, in place of blaming Firestore', async () => {
  expect(await runCommand('list', '--project', 'demo-price-lists')).toEqual({ code: 1, out: '', err: `${SENTENCE}\n` });
});
