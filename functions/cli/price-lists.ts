import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock';
import { createDatabase } from '../src/lib/firestore/database';
import { createCallContext } from '../src/lib/call-context';
import type { KeyRecord } from '../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../src/lib/runtime-options';
import { FAILURE_RESERVE_MS, type WorkflowContext } from '../src/price-lists/create-price-lists';
import {
  formatKeyDetails,
  getKeyDetails,
  HELP,
  formatKeys,
  ProgressBar,
  getKeySummary,
  type KeySummary,
} from './format';
import { createClient, CLI_TIMEOUTS_MS, listKeyRecords } from './stored-records';
import { requireKeyRecord, CommandError, release, resume, loadStoredPayload, describeInvalidPayload } from './review';

/** `npm run price-lists`: what an operator sees and does of the keys of add price lists (docs/runbook.md). */

const options = {
  project: { type: 'string' },
  status: { type: 'string', multiple: true },
  'older-than': { type: 'string' },
  json: { type: 'boolean' },
  payload: { type: 'string' },
  reason: { type: 'string' },
  by: { type: 'string' },
  yes: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Which options go with which verb, besides those that go with all. */
const COMMANDS = {
  list: ['status', 'older-than', 'json'],
  show: ['payload', 'json'],
  resume: ['reason', 'by', 'yes', 'json'],
  release: ['reason', 'by', 'yes', 'json'],
} as const;

const COMMON_OPTIONS = ['project', 'help'];

type Command = keyof typeof COMMANDS;
type Options = ReturnType<typeof parse>['values'];

/** What was typed is not a command; the help says what is. */
class UsageError extends Error {}

const parse = (args: string[]) => parseArgs({ args, options, allowPositionals: true });

/** Runs one command. @returns the exit code: 0 done, 1 refused or failed, 2 misused */
async function main(args: string[]): Promise<number> {
  try {
    const { verb, key, values } = parseCommand(args);
    if (verb === undefined) {
      print(HELP);
      return 0;
    }
    const target = resolveTarget(values);
    const signal = AbortSignal.any([AbortSignal.timeout(LEASE_DURATION_MS - FAILURE_RESERVE_MS), abortOnSigint()]);
    const firestore = createClient(target.project);
    const run: WorkflowContext = {
      db: createDatabase(firestore, createCallContext(signal), CLI_TIMEOUTS_MS),
      clock: systemClock,
      random: Math.random,
      newToken: randomUUID,
      signal,
      leaseMs: LEASE_DURATION_MS,
      log: { claimed: noop, completed: noop, failed: noop, superseded: noop },
    };
    process.stderr.write(`${target.name}\n\n`);
    try {
      return await runCommand(verb, key, values, run);
    } finally {
      await firestore.terminate();
    }
  } catch (error) {
    if (error instanceof UsageError) return printError(`${error.message}\n\n${HELP}`, 2);
    if (error instanceof CommandError) return printError(`${error.message}\n`, 1);
    return printError(`Failed: ${error instanceof Error ? error.message : String(error)}\n`, 1);
  }
}

async function runCommand(verb: Command, key: string, values: Options, run: WorkflowContext): Promise<number> {
  switch (verb) {
    case 'list':
      return list(values, run);
    case 'show':
      return show(await requireKeyRecord(key, run), values, run);
    case 'resume':
      return resumeKey(await requireKeyRecord(key, run), values, run);
    case 'release':
      return releaseKey(await requireKeyRecord(key, run), values, run);
  }
}

async function list(values: Options, run: WorkflowContext): Promise<number> {
  const statuses = parseStatuses(values.status);
  const olderThanMs = values['older-than'] === undefined ? 0 : parseDuration(values['older-than']);
  const { records, unreadable } = await listKeyRecords(run.db, statuses ?? ['processing', 'requires_review']);
  const now = run.clock.now();
  const wanted = records
    .filter((record) => now - record.updated_at >= olderThanMs)
    .filter((record) => statuses !== undefined || !isLive(record, now))
    .sort((a, b) => a.updated_at - b.updated_at);
  const reports: KeySummary[] = [];
  for (const record of wanted) reports.push(await getKeySummary(record, run));
  print(values.json === true ? json(reports) : formatKeys(reports, statuses === undefined, now));
  for (const path of unreadable) process.stderr.write(`${path} cannot be read: it is left out.\n`);
  return 0;
}

async function show(
  record: KeyRecord,
  { payload: file, json: asJson }: Options,
  run: WorkflowContext,
): Promise<number> {
  const payload = await loadStoredPayload(run.db, record);
  if (file !== undefined) {
    if (payload.kind === 'invalid') throw new CommandError(describeInvalidPayload(payload.reason));
    if (file === '-') process.stdout.write(payload.text);
    else writeFileSync(file, payload.text);
    if (file !== '-') print(`The accepted payload, ${payload.text.length} bytes, is in ${file}.\n`);
    return 0;
  }
  const full = await getKeyDetails(record, payload, run);
  print(asJson === true ? json(full) : formatKeyDetails(full, run.clock.now()));
  return 0;
}

async function resumeKey(record: KeyRecord, values: Options, run: WorkflowContext): Promise<number> {
  assertNotInProgress(record, run);
  const payload = await loadStoredPayload(run.db, record);
  if (payload.kind === 'invalid') throw new CommandError(describeInvalidPayload(payload.reason));
  const summary = await getKeySummary(record, run);
  await confirm(
    `Resume ${summary.boq_list_id}: write what is missing of ${summary.products_count} products into both lists, turn them ready, ` +
      'and store the answer that its caller gets.',
    values,
  );
  const bar = new ProgressBar(process.stderr);
  const decision = { by: getOperatorName(values), reason: values.reason ?? null };
  const { response } = await resume(record, decision, run, {
    onPending: (entries) => bar.start(entries),
    onWritten: (entries) => bar.advance(entries),
  });
  bar.end();
  print(values.json === true ? `${response}\n` : `Ready. The caller is answered from now on:\n\n  ${response}\n`);
  return 0;
}

async function releaseKey(record: KeyRecord, values: Options, run: WorkflowContext): Promise<number> {
  if (values.reason === undefined) throw new UsageError('release needs --reason: it is kept with the key.');
  assertNotInProgress(record, run);
  await confirm(
    `Release ${JSON.stringify(record.boq_list_id)}: its lists are failed for good, and the next request for it is a new attempt, ` +
      'with whatever payload it brings. What was stored stays for the audit.',
    values,
  );
  await release(record, { by: getOperatorName(values), reason: values.reason }, run);
  print(values.json === true ? json({ released: record.boq_list_id }) : 'Released. Its caller may post again.\n');
  return 0;
}

/** Aborts at the first Ctrl-C, so that an attempt that was taken over is given back at once; the second one ends the process. */
function abortOnSigint(): AbortSignal {
  const stop = new AbortController();
  process.once('SIGINT', () =>
    stop.abort(new Error('interrupted; what was written stays, and resume goes on from there')),
  );
  return stop.signal;
}

/** Asks before anything is written. @throws Refusal unless the answer is yes */
async function confirm(what: string, { yes }: Options): Promise<void> {
  if (yes === true) return;
  if (!process.stdin.isTTY) throw new CommandError(`${what}\nNobody is there to agree: say --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${what}\nGo on? [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was changed.');
}

function parseCommand(args: string[]): { verb: Command | undefined; key: string; values: Options } {
  const { values, positionals } = parsed(args);
  const [verb, key = '', ...more] = positionals;
  if (values.help === true || verb === undefined) return { verb: undefined, key, values };
  if (!isVerb(verb)) throw new UsageError(`"${verb}" is not a command.`);
  if (verb === 'list' ? key !== '' : key === '') {
    throw new UsageError(verb === 'list' ? 'list takes no key.' : `${verb} needs the boq_list_id of a price list.`);
  }
  if (more.length > 0) throw new UsageError(`${verb} takes one boq_list_id; quote one that holds spaces.`);
  const allowed: readonly string[] = [...COMMANDS[verb], ...COMMON_OPTIONS];
  const unknownOption = Object.keys(values).find((option) => !allowed.includes(option));
  if (unknownOption !== undefined) throw new UsageError(`--${unknownOption} does not go with ${verb}.`);
  return { verb, key, values };
}

function parsed(args: string[]) {
  try {
    return parse(args);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The options could not be read.');
  }
}

const isVerb = (word: string): word is Command => Object.hasOwn(COMMANDS, word);

/** Where the database is: a project whose id begins with `demo-` is a local one, by Firebase's convention. */
function resolveTarget({ project: given }: Options): { project: string; name: string } {
  const project = given ?? process.env['GOOGLE_CLOUD_PROJECT'] ?? process.env['GCLOUD_PROJECT'] ?? defaultProject();
  if (project.startsWith('demo-')) process.env['FIRESTORE_EMULATOR_HOST'] ??= '127.0.0.1:8080';
  // Where the connection of entries looks for it (functions/src/lib/firestore/connection.ts).
  process.env['GOOGLE_CLOUD_PROJECT'] = project;
  const address = process.env['FIRESTORE_EMULATOR_HOST'];
  // Google's libraries would ask around whether this is one of Google's machines.
  if (address !== undefined) process.env['METADATA_SERVER_DETECTION'] = 'none';
  return { project, name: `Project ${project}, ${address === undefined ? 'in production' : `at ${address}`}` };
}

function defaultProject(): string {
  const { projects } = JSON.parse(readFileSync('.firebaserc', 'utf8')) as { projects: { default: string } };
  return projects.default;
}

/** An attempt whose lease has not run out is nobody's business but its owner's. */
const isLive = ({ status, lease_expires_at }: KeyRecord, now: number) =>
  status === 'processing' && now < lease_expires_at;

/** Says so before anything is asked; the step itself would refuse it too. @throws Refusal */
function assertNotInProgress(record: KeyRecord, { clock }: WorkflowContext): void {
  if (!isLive(record, clock.now())) return;
  const until = new Date(record.lease_expires_at).toISOString();
  throw new CommandError(`An attempt on the key is live, until ${until} at the latest. Wait for it.`);
}

const allStatuses = ['processing', 'completed', 'requires_review', 'released'] as const;

function parseStatuses(given: string[] | undefined): KeyRecord['status'][] | undefined {
  return given?.map((text) => {
    const status = allStatuses.find((known) => known === text);
    if (status === undefined) throw new UsageError(`--status is one of ${allStatuses.join(', ')}, not "${text}".`);
    return status;
  });
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (amount === undefined)
    throw new UsageError(`--older-than is a number of s, m, h or d, such as 30m, not "${text}".`);
  return Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

const getOperatorName = ({ by }: Options): string => by ?? userInfo().username;

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const print = (text: string): void => void process.stdout.write(text);

function printError(text: string, code: number): number {
  process.stderr.write(text);
  return code;
}

const noop = (): void => undefined;

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
