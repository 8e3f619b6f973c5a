import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocks, type Block } from '../harness/blocks';
import { cleanUp, startLocalServer, temporaryFolder, type LocalServer } from '../harness/local-server';
import { runProgram, runProgramSync } from '../../dev/run/programs';

/**
 * Tests that bash can parse the scripts in the documents, that links to tests name existing titles, and that a newcomer can use
 * the service as the first pages say.
 */

test.each(blocks.filter(({ language }) => language === 'bash'))('$document:$line can be parsed by bash', ({ code }) => {
  expect(runProgramSync('bash', ['-n', '-c', code])).toMatchObject({ status: 0, stderr: '' });
});

test.each(['docs/reliability.md', 'docs/security.md'])(
  'each link of %s to a test file has a text that the file contains',
  (page) => {
    const links = readFileSync(page, 'utf8').matchAll(/\[([^[\]]+)\]\((\S+\.test\.ts)\)/g);
    const named = [...links].map(([, title = '', file = '']) => ({ title, file }));
    expect(named.length).toBeGreaterThan(0);
    for (const { title, file } of named) expect(readFileSync(join('docs', file), 'utf8')).toContain(title);
  },
);

/**
 * Tests the blocks of a page that use the service, or prepare for that. They share one data folder, even after the page has
 * killed and restarted the service.
 */
describe.each(['README.md', 'docs/getting-started.md'])('%s, followed from top to bottom', (page) => {
  const steps = blocks
    .filter(({ document }) => document === page)
    .map((block, i, all) => ({ ...block, next: all[i + 1] }));
  let service: LocalServer | undefined;
  let dataDir: string | undefined;
  let variables = '';
  afterAll(cleanUp);

  /** Runs a block against the service that the page has started, with the port of that service instead of 5001. */
  async function runBlock(code: string): Promise<string> {
    if (service === undefined) throw new Error('the page has not started the service, or has stopped it');
    const { host, port } = new URL(service.address(''));
    const commands = `${variables}${code}`.replaceAll('127.0.0.1:5001', host).replaceAll('tcp:5001', `tcp:${port}`);
    const env = { FIRESTORE_EMULATOR_HOST: service.firestoreAddress };
    return (await runProgram('bash', ['-c', commands], { env })).stdout;
  }

  const select = (isSelected: (block: Block) => boolean) => steps.filter(isSelected);
  const starts = select(({ code }) => code.endsWith('npm start\n'));
  const exports = select(({ code }) => code.startsWith('export BASE_URL='));
  const kills = select(({ code }) => code.includes('kill -9'));
  const calls = select((block) => block.code.includes('"$BASE_URL') && !kills.some(({ line }) => line === block.line));
  const looks = select(({ language, code }) => language === 'bash' && /^(until )?npx |^node -p /.test(code));
  const stops = select(({ code }) => code.includes('\n^C'));

  test('starts the service once, and again after each kill, and sets the variables once', () => {
    expect([starts.length, exports.length]).toEqual([1 + kills.length, 1]);
    expect(calls.length).toBeGreaterThan(0);
  });

  // Without lsof, the first step that kills the service and all later steps are skipped. Their titles say so.
  const firstSkipped = runProgramSync('lsof', ['-v']).error === undefined ? Infinity : (kills[0]?.line ?? Infinity);

  const ordered = [starts, exports, calls, kills, looks, stops].flat().sort((a, b) => a.line - b.line);
  for (const step of ordered) {
    const isSkipped = step.line >= firstSkipped;
    const because = isSkipped ? ' (skipped: lsof is missing)' : '';
    (isSkipped ? test.skip : test)(`line ${step.line} does what the page says${because}`, () => follow(step));
  }

  async function follow(step: (typeof steps)[number]): Promise<void> {
    if (starts.includes(step)) {
      dataDir ??= temporaryFolder();
      service = await startLocalServer({ API_KEY: undefined, SAMPLE_DATA: 'true', DATA_DIR: dataDir });
    } else if (exports.includes(step)) variables = step.code;
    else if (stops.includes(step)) {
      expect((await service?.stop())?.code).toBe(0);
      service = undefined;
    } else if (kills.includes(step)) {
      await runBlock(step.code);
      expect((await service?.ended)?.signal).toBe('SIGKILL');
      service = undefined;
    } else if (looks.includes(step)) expectLines(await runBlock(`exec 2>&1\n${step.code}`), step.next);
    else expectResponse(await runBlock(step.code), step.next?.code ?? '');
  }
});

/**
 * Expects a program to print the lines that the page shows next, apart from numbers. On a slow machine, the lease of the killed service
 * may already have expired. The page says that the lines then differ.
 */
function expectLines(printed: string, shown: Block | undefined): void {
  if (shown?.language !== 'console' || printed.includes('expired')) return;
  const toLines = (text: string) => text.split('\n').map((line) => line.trim().replaceAll(/\d[\d,:-]*/g, '0'));
  const expected = toLines(shown.code).filter((line) => line !== '…');
  expect(toLines(printed)).toEqual(expect.arrayContaining(expected));
}

/** Expects a response to have the status, the headers and the members that a page shows. */
function expectResponse(printed: string, shown: string): void {
  const actual = parseResponse(printed.replaceAll('\r', '').replace(/^HTTP\/1.1 100 .*\n\n/, ''));
  const expected = parseResponse(shown);
  expect(actual.lines).toEqual(expect.arrayContaining(expected.lines));
  expect(actual.lines[0]).toBe(expected.lines[0]);
  expect(actual.body).toMatchObject(expected.body);
}

/** Parses a response as it was printed or is shown. A page writes `…` for what it leaves out. */
function parseResponse(text: string): { lines: string[]; body: object } {
  const end = text.indexOf('\n\n');
  const lines = text.slice(0, end).split('\n');
  const body = JSON.parse(text.slice(end).replaceAll(/,\s*…/g, ''), withoutNewValues) as object;
  return { lines: lines.filter((line) => line !== '…'), body };
}

/** Leaves out the times and generated ids of a response, which are new each time. */
function withoutNewValues(key: string, value: unknown): unknown {
  if (['document_id', 'created_at', 'updated_at'].includes(key)) return undefined;
  return key === 'id' && typeof value === 'string' && /^[A-Za-z0-9]{20}$/.test(value) ? undefined : value;
}
