import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocks, type Block } from '../support/blocks';
import { cleanUp, startLocalServer, type LocalServer } from '../support/local-server';
import { runProgram, runProgramSync } from '../../scripts/harness/programs';

/** The shell scripts of the documents can be parsed, and the calls of Getting started get the responses that it shows. */

test.each(blocks.filter(({ language }) => language === 'bash'))('$document:$line can be parsed by bash', ({ code }) => {
  expect(runProgramSync('bash', ['-n', '-c', code])).toMatchObject({ status: 0, stderr: '' });
});

const GETTING_STARTED = join('docs', 'getting-started.md');

describe('the calls of docs/getting-started.md', () => {
  /** Each shell block that calls the service, with the response that the page shows below it. */
  const calls = blocks.flatMap((block, i) => {
    const next = blocks[i + 1];
    const isCall = block.document === GETTING_STARTED && block.code.startsWith('curl ') && next?.language === 'json';
    return isCall
      ? [{ line: block.line, code: block.code, shown: JSON.parse(next.code, withoutNewValues) as object }]
      : [];
  });

  let service: LocalServer;
  beforeAll(async () => {
    service = await startLocalServer({ API_KEY: undefined, SAMPLE_DATA: 'true' });
  });
  afterAll(cleanUp);

  test.each(calls)('the call in line $line gets the response that the page shows', async ({ code, shown }) => {
    const origin = new URL(service.address('getTeams')).origin;
    const { stdout } = await runProgram('bash', ['-c', code.replace('http://127.0.0.1:5001', origin)]);
    expect(JSON.parse(stdout, withoutNewValues)).toMatchObject(shown);
  });

  test('the calls that fail get the statuses that the page lists', async () => {
    const { code } = findBlock('base=');
    const origin = new URL(service.address('getTeams')).origin;
    const { stdout } = await runProgram('bash', ['-c', code.replace('http://127.0.0.1:5001', origin)]);
    const statuses = [...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    const [, expected = ''] =
      /with these statuses: ([\d, ]+)\./.exec(readFileSync('docs/getting-started.md', 'utf8')) ?? [];
    expect(statuses.filter((status) => status !== '100')).toEqual(expected.split(', '));
  });

  test('the query prints the price list that was stored', async () => {
    const { code } = findBlock('FIRESTORE_EMULATOR_HOST=');
    const { stdout } = await runProgram('bash', ['-c', code.replace('127.0.0.1:8080', service.firestoreAddress)]);
    expect(stdout).toMatch(/^\w{20} Kenya building materials, June 2026 ready 12 products\n$/);
  });

  function findBlock(start: string): Block {
    const block = blocks.find(({ document, code }) => document === GETTING_STARTED && code.startsWith(start));
    if (block === undefined) throw new Error(`${GETTING_STARTED} has no block that begins with ${start}`);
    return block;
  }
});

/** Leaves out the times and generated ids of a response, which are new each time. */
function withoutNewValues(key: string, value: unknown): unknown {
  if (['document_id', 'created_at', 'updated_at'].includes(key)) return undefined;
  return key === 'id' && typeof value === 'string' && /^[A-Za-z0-9]{20}$/.test(value) ? undefined : value;
}
