import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocks, type Block } from '../harness/blocks';
import { cleanUp, startLocalServer, type LocalServer } from '../harness/local-server';
import { runProgram, runProgramSync } from '../../dev/run/programs';

/** Tests that bash can parse the shell scripts of the documents, and that the commands of a newcomer's first pages work in order. */

test.each(blocks.filter(({ language }) => language === 'bash'))('$document:$line can be parsed by bash', ({ code }) => {
  expect(runProgramSync('bash', ['-n', '-c', code])).toMatchObject({ status: 0, stderr: '' });
});

test('each test file that docs/reliability.md links to contains the title that the link names', () => {
  const links = readFileSync('docs/reliability.md', 'utf8').matchAll(/\[([^\]]+)\]\((\S+\.test\.ts)\)/g);
  const named = [...links].map(([, title = '', file = '']) => ({ title, file }));
  expect(named.length).toBeGreaterThan(0);
  for (const { title, file } of named) expect(readFileSync(join('docs', file), 'utf8')).toContain(title);
});

/** The blocks that use the service or the variables of the page. They share the state of one service. */
describe.each(['README.md', 'docs/getting-started.md'])('%s, followed in its order', (page) => {
  const steps = blocks
    .filter(({ document }) => document === page)
    .map((block, i, all) => ({ ...block, next: all[i + 1] }));
  let service: LocalServer | undefined;
  let variables = '';
  afterAll(cleanUp);

  /** Runs a block against the service that the page has started, whose ports are not those of the page. */
  async function runBlock(code: string): Promise<string> {
    if (service === undefined) throw new Error('the page has not started the service, or has stopped it');
    const { origin } = new URL(service.address(''));
    const commands = `${variables}${code}`.replaceAll('http://127.0.0.1:5001', origin);
    return (await runProgram('bash', ['-c', commands])).stdout;
  }

  const select = (isSelected: (block: Block) => boolean) => steps.filter(isSelected);
  const starts = select(({ code }) => code.endsWith('npm start\n'));
  const exports = select(({ code }) => code.startsWith('export BASE_URL='));
  const calls = select(({ code }) => code.includes('"$BASE_URL'));
  const stops = select(({ code }) => code.includes('\n^C'));

  test('starts the service once, and sets the variables once', () => {
    expect([starts.length, exports.length]).toEqual([1, 1]);
    expect(calls.length).toBeGreaterThan(0);
  });

  const ordered = [...starts, ...exports, ...calls, ...stops].sort((a, b) => a.line - b.line);
  test.each(ordered)('line $line does what the page says', async (step) => {
    if (starts.includes(step)) service = await startLocalServer({ API_KEY: undefined, SAMPLE_DATA: 'true' });
    else if (exports.includes(step)) variables = step.code;
    else if (stops.includes(step)) {
      expect((await service?.stop())?.code).toBe(0);
      service = undefined;
    } else expectResponse(await runBlock(step.code), step.next?.code ?? '');
  });
});

/** Expects a response to have the status, the headers and the members that a page shows. */
function expectResponse(printed: string, shown: string): void {
  const actual = parseResponse(printed.replaceAll('\r', '').replace(/^HTTP\/1.1 100 .*\n\n/, ''));
  const expected = parseResponse(shown);
  expect(actual.lines).toEqual(expect.arrayContaining(expected.lines));
  expect(actual.lines[0]).toBe(expected.lines[0]);
  expect(actual.body).toMatchObject(expected.body);
}

function parseResponse(text: string): { lines: string[]; body: object } {
  const end = text.indexOf('\n\n');
  return { lines: text.slice(0, end).split('\n'), body: JSON.parse(text.slice(end), withoutNewValues) as object };
}

/** Leaves out the times and generated ids of a response, which are new each time. */
function withoutNewValues(key: string, value: unknown): unknown {
  if (['document_id', 'created_at', 'updated_at'].includes(key)) return undefined;
  return key === 'id' && typeof value === 'string' && /^[A-Za-z0-9]{20}$/.test(value) ? undefined : value;
}
