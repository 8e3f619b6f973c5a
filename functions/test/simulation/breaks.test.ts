import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle, bundleEnvironment } from '../faults/bundle';

/**
 * Tests of the tests: the service is broken on purpose, one line at a time, and the simulation must catch it. A break is
 * a change of the source as it is read; the source itself, and what is deployed, know nothing of it.
 */

interface Break {
  file: string;
  line: string;
  broken: string;
  /** What the simulation says of it. */
  caught: RegExp;
}

const REPOSITORY = 'functions/src/lib/repositories/price-lists.ts';
const STATES = 'functions/src/price-lists/state-machine.ts';
const WORKFLOW = 'functions/src/price-lists/workflow.ts';

const breaks: Record<string, Break> = {
  'a claim that is no transaction': {
    file: REPOSITORY,
    line: 'if (key.version === undefined) writes.create(key.reference, record);',
    broken: 'if (key.version === undefined) writes.set(key.reference, record);',
    caught: /only a released key is claimed again/,
  },
  'a finish that is not fenced': {
    file: REPOSITORY,
    line: 'else writes.update(key.reference, { ...record }, { lastUpdateTime: key.version });',
    broken: 'else writes.set(key.reference, record);',
    caught: /only a live attempt (fails|is finished)/,
  },
  'entries that are created': {
    file: REPOSITORY,
    line: 'for (const [id, prices] of products) writes.set(entries.doc(id), { [stored]: prices[price] });',
    broken: 'for (const [id, prices] of products) writes.create(entries.doc(id), { [stored]: prices[price] });',
    caught: /somebody else was first/,
  },
  'a failure that is written without a condition': {
    file: STATES,
    line: "const owned = record?.status === 'processing' && record.owner === attempt.owner;",
    broken: 'const owned = record !== undefined;',
    caught: /only a live attempt (fails|is finished)/,
  },
  'no owner token': {
    file: WORKFLOW,
    line: 'owner: run.newToken(),',
    broken: "owner: 'anybody',",
    caught: /only the attempt that created the lists is answered as the first/,
  },
  'a lease that leaves its owner in place': {
    file: STATES,
    line: "return { ...record, status: 'requires_review', owner: NOBODY, failure: LEASE_RAN_OUT, updated_at: now };",
    broken: "return { ...record, status: 'requires_review', failure: LEASE_RAN_OUT, updated_at: now };",
    caught: /superseded is answered as unsettled/,
  },
  'a try that goes on after it was given up': {
    file: REPOSITORY,
    line: 'signal.throwIfAborted();',
    broken: '',
    caught: /goes on after it has answered/,
  },
  'parents that turn ready one by one': {
    file: REPOSITORY,
    line: "parents.forEach((parent) => writes.update(parent, { status: 'ready', updated_at }));",
    broken: "parents.slice(1).forEach((parent) => writes.update(parent, { status: 'ready', updated_at }));",
    caught: /are ready, not processing/,
  },
};

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'breaks-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe.each(Object.entries(breaks))('%s', (name, { file, line, broken, caught }) => {
  test('is caught', async () => {
    const source = readFileSync(file, 'utf8');
    expect(source.split(line)).toHaveLength(2);
    const program = join(folder, `${name.replaceAll(' ', '-')}.cjs`);
    await bundle('functions/test/simulation/main.ts', program, { file, contents: source.replace(line, () => broken) });
    const { code, said } = await run(program);
    expect(said).toMatch(/^seed \d+: /m);
    expect(said).toMatch(caught);
    expect(code).toBe(1);
  }, 120_000);
});

function run(program: string): Promise<{ code: number; said: string }> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      [program, '--schedules', '300', '--seed', '1'],
      { env: bundleEnvironment(), maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), said: stdout + stderr }),
    );
  });
}
