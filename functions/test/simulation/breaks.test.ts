import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleSimulation, SimulationHost } from './program';

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
  /** Where the search for a schedule that catches it begins, if the first such one is rare. */
  firstSeed?: number;
}

const REPOSITORY = 'functions/src/lib/repositories/price-lists.ts';
const ENTRIES = 'functions/src/lib/firestore/price-entry-batch.ts';
const STATES = 'functions/src/price-lists/key-state-machine.ts';
const STEPS = 'functions/src/price-lists/apply-event.ts';
const LEASE = 'functions/src/price-lists/lease.ts';
const CLAIM = 'functions/src/price-lists/claim.ts';

const breaks: Record<string, Break> = {
  'a claim without a condition': {
    file: REPOSITORY,
    line: 'if (key.version === undefined) writes.create(key.reference, record);',
    broken: 'if (key.version === undefined) writes.set(key.reference, record);',
    caught: /only a released key is claimed again|completed is final/,
  },
  'a completion without a condition': {
    file: REPOSITORY,
    line: 'else writes.update(key.reference, { ...record }, { lastUpdateTime: key.version });',
    broken: 'else writes.set(key.reference, record);',
    caught: /only (an attempt in progress|a resume|the owner)|completed is final|keeps its owner/,
  },
  'a renewal without a condition': {
    file: REPOSITORY,
    line: 'else writes.update(key.reference, { ...record }, { lastUpdateTime: key.version });',
    broken: `else if (key.record?.status === 'processing' && record.status === 'processing') writes.set(key.reference, record);
    else writes.update(key.reference, { ...record }, { lastUpdateTime: key.version });`,
    caught: /only a resume starts an attempt again|completed is final|only the owner renews/,
    firstSeed: 172,
  },
  'a renewal that is never due': {
    file: LEASE,
    line: 'while (this.context.clock.now() >= this.#expiresAt - LEASE_DURATION_MS * (1 - RENEWAL_FRACTION)) {',
    broken: 'while (this.context.clock.now() < 0) {',
    caught: /writes entries after its lease expired/,
  },
  'a sweep, like every other step, that ignores the lease': {
    file: STATES,
    line: "if (record.status !== 'processing' || now < record.lease_expires_at) return record;",
    broken: "if (record.status !== 'processing') return record;",
    caught: /keeps its owner until its lease expires/,
  },
  'entries that are created': {
    file: ENTRIES,
    line: 'const request = Request.CommitRequest.encode({ database: databasePath, writes }).finish();',
    // A precondition, which messages.proto does not have: there is no such document.
    broken: `const encoded = writes.map((write) => [...Request.Write.encode(write).finish(), 0x22, 2, 8, 0]);
      const tags = encoded.map(({ length }) => [0x12, ...(length < 128 ? [length] : [(length % 128) + 128, length >> 7])]);
      const head = Request.CommitRequest.encode({ database: databasePath }).finish();
      const request = Buffer.from([...head, ...encoded.flatMap((write, i) => [...(tags[i] ?? []), ...write])]);`,
    caught: /a precondition fails only where another step was taken/,
  },
  'a failure that is written without a condition': {
    file: STATES,
    line: "record?.status === 'processing' && record.owner === owner;",
    broken: 'record !== undefined && owner !== undefined;',
    caught: /only (an attempt in progress|the owner)|completed is final|only a resume/,
  },
  'no owner token': {
    file: CLAIM,
    line: 'owner: context.newToken(),',
    broken: "owner: 'anybody',",
    caught: /only a claimed attempt fails|gets the first response/,
  },
  'a lease that leaves its owner in place': {
    file: STATES,
    line: "return { ...record, status: 'requires_review', owner: NO_OWNER, ...expired };",
    broken: "return { ...record, status: 'requires_review', ...expired };",
    caught: /a stale attempt does not fail its request/,
    firstSeed: 39,
  },
  'a try that goes on after it was given up': {
    file: STEPS,
    line: 'signal.throwIfAborted();',
    broken: '',
    caught: /goes on after its response/,
  },
  'lists that become ready one by one': {
    file: REPOSITORY,
    line: "lists.forEach((list) => writes.update(list, { status: 'ready', updated_at }));",
    broken: "lists.slice(1).forEach((list) => writes.update(list, { status: 'ready', updated_at }));",
    caught: /is processing, but its attempt is completed/,
  },
};

const folder = mkdtempSync(join(tmpdir(), 'breaks-'));

/** Two processes, for two processors: each takes every second break. */
const hosts = [new SimulationHost(), new SimulationHost()] as const;

afterAll(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  rmSync(folder, { recursive: true });
});

test.concurrent.each(
  Object.entries(breaks).map(([name, change], i) => [name, change, hosts[i % 2 === 0 ? 0 : 1]] as const),
)(
  '%s is caught',
  async (name, { file, line, broken, caught, firstSeed = 1 }, host) => {
    const source = readFileSync(file, 'utf8');
    expect(source.split(line)).toHaveLength(2);
    const program = join(folder, `${name.replaceAll(' ', '-')}.cjs`);
    await bundleSimulation(program, { file, contents: source.replace(line, () => broken) });
    const { code, text } = await host.run({ program, seed: firstSeed, schedules: 300 });
    expect(text).toMatch(/^seed \d+: /m);
    expect(text).toMatch(caught);
    expect(code).toBe(1);
  },
  300_000,
);
