import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleSimulation, runSimulation } from './program';

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
const ENTRIES = 'functions/src/lib/firestore/bulk-commit.ts';
const STATES = 'functions/src/price-lists/key-state-machine.ts';
const WORKFLOW = 'functions/src/price-lists/create-price-lists.ts';

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
    file: ENTRIES,
    line: 'writer.writeTag(COMMIT_WRITE, 1 + varintSize(documentSize) + documentSize);',
    // A precondition: there is no such document.
    broken: `writer.writeTag(COMMIT_WRITE, 5 + varintSize(documentSize) + documentSize);
      writer.writeRaw(Buffer.from([0x22, 2, 8, 0]));`,
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
    line: "return { ...record, status: 'requires_review', owner: NO_OWNER, failure: LEASE_EXPIRED, updated_at: now };",
    broken: "return { ...record, status: 'requires_review', failure: LEASE_EXPIRED, updated_at: now };",
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

const folder = mkdtempSync(join(tmpdir(), 'breaks-'));

afterAll(() => rmSync(folder, { recursive: true }));

test.concurrent.each(Object.entries(breaks))(
  '%s is caught',
  async (name, { file, line, broken, caught }) => {
    const source = readFileSync(file, 'utf8');
    expect(source.split(line)).toHaveLength(2);
    const program = join(folder, `${name.replaceAll(' ', '-')}.cjs`);
    await bundleSimulation(program, { file, contents: source.replace(line, () => broken) });
    const { code, text } = await runSimulation(program, 1, 300);
    expect(text).toMatch(/^seed \d+: /m);
    expect(text).toMatch(caught);
    expect(code).toBe(1);
  },
  120_000,
);
