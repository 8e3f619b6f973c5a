import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { RequestContext } from '../src/lib/request-context';
import type { Database } from '../src/lib/firestore/database';
import { retry } from '../src/lib/firestore/retry';
import { findKeyRecords, readKeyRecords } from '../src/lib/repositories/stored-price-lists';
import type { KeyRecord } from '../src/lib/schemas/key-record';
import { release } from '../src/price-lists/release';
import { ResolutionError } from '../src/price-lists/resolution-error';
import { requireKeyRecord, resume } from '../src/price-lists/resume';
import { readStoredPayload } from '../src/price-lists/stored-payload';
import { sweep } from '../src/price-lists/sweep';
import { parseDuration, parseMaxAttempts, parseStatuses, UsageError, type Command, type Options } from './arguments';
import { escapeJsonControls, quote } from './escape';
import {
  formatInProgress,
  formatKeyDetails,
  formatKeys,
  formatSweepResult,
  getKeyDetails,
  getKeySummary,
  isInProgress,
  type KeySummary,
} from './format';
import { CommandError, describeError, describeUnreadable, type Terminal } from './terminal';

/** What a command works with. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly db: Database;
  /** Its signal aborts when the operator stops the command. */
  readonly call: RequestContext;
}

/** @returns exit code */
export async function runCommand(
  command: Command,
  keys: readonly string[],
  values: Options,
  context: CommandContext,
): Promise<number> {
  const [key = ''] = keys;
  switch (command) {
    case 'list':
      return list(values, context);
    case 'show':
      return show(key, values, context);
    case 'resume':
      return resumeKeys(keys, values, context);
    case 'release':
      return releaseKey(await requireKeyRecord(key, context.db, context.call), values, context);
    case 'sweep':
      return sweepKeys(values, context);
  }
}

async function list(values: Options, context: CommandContext): Promise<number> {
  const statuses = parseStatuses(values.status);
  const olderThanMs = values['older-than'] === undefined ? 0 : parseDuration('older-than', values['older-than']);
  const { records, unreadable } = await readKeyRecords(context.db, statuses ?? ['processing', 'requires_review']);
  const now = context.call.clock.now();
  const inProgress = records.filter((record) => isInProgress(record, now));
  const selected = records
    .filter((record) => now - record.updated_at >= olderThanMs)
    .filter((record) => statuses !== undefined || !inProgress.includes(record))
    .sort((a, b) => a.updated_at - b.updated_at);
  const summaries: KeySummary[] = [];
  for (const record of selected) summaries.push(await getKeySummary(record, context.db));
  context.terminal.print(values.json === true ? toJson(summaries) : formatKeys(summaries, statuses === undefined, now));
  const note = formatInProgress(inProgress);
  if (values.json === true) context.terminal.printError(note);
  else if (statuses === undefined) context.terminal.print(note);
  for (const path of unreadable) context.terminal.printError(`${describeUnreadable(path)}\n`);
  return 0;
}

async function show(id: string, values: Options, context: CommandContext): Promise<number> {
  const records = await retry(() => findKeyRecords(context.db, id), context.call);
  if (records.length === 0) throw new CommandError(`No request was ever accepted for ${quote(id)}.`);
  for (const record of records) await showKey(record, values, context);
  return 0;
}

async function showKey(record: KeyRecord, values: Options, context: CommandContext): Promise<void> {
  const payload = await readStoredPayload(context.db, record);
  const { payload: file } = values;
  if (file === undefined) {
    const details = await getKeyDetails(record, payload, context.db);
    context.terminal.print(
      values.json === true ? toJson(details) : formatKeyDetails(details, context.call.clock.now()),
    );
    return;
  }
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  if (file !== '-') {
    writeFileSync(file, payload.text);
    context.terminal.print(`The accepted payload, ${payload.text.length} bytes, is in ${file}.\n`);
  } else if (context.terminal.streams.stdout.isTTY === true)
    context.terminal.print(escapeJsonControls(payload.text.toString()));
  else context.terminal.streams.stdout.write(payload.text);
}

/** Resumes keys one after another. With several keys, one that cannot be resumed does not stop the others. */
async function resumeKeys(keys: readonly string[], values: Options, context: CommandContext): Promise<number> {
  let failures = 0;
  const attempt = async <T>(key: string, fn: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await fn();
    } catch (error) {
      if (keys.length === 1 || context.call.signal.aborted) throw error;
      failures += 1;
      context.terminal.printError(`${quote(key)}: ${describeError(error)}\n`);
      return undefined;
    }
  };
  const records: KeyRecord[] = [];
  for (const key of keys) {
    const record = await attempt(key, () => requireResumable(key, context));
    if (record !== undefined) records.push(record);
  }
  if (records.length > 0) await confirmResume(records, values, context);
  for (const record of records) await attempt(record.boq_list_id, () => resumeKey(record, values, context));
  return failures === 0 ? 0 : 1;
}

async function requireResumable(key: string, context: CommandContext): Promise<KeyRecord> {
  const record = await requireKeyRecord(key, context.db, context.call);
  assertNotInProgress(record, context);
  const payload = await readStoredPayload(context.db, record);
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  return record;
}

async function confirmResume(records: readonly KeyRecord[], { yes }: Options, { terminal, call }: CommandContext) {
  if (yes === true) return;
  const keys = records.map(({ boq_list_id }) => quote(boq_list_id)).join(', ');
  const products = records.reduce((sum, { products_count }) => sum + products_count, 0);
  await terminal.confirm(
    `Resume ${keys}: write the missing entries of ${products} products into both lists, make the lists ready, ` +
      'and store the response for the client.',
    call.signal,
  );
}

async function resumeKey(record: KeyRecord, values: Options, context: CommandContext): Promise<void> {
  const { terminal, db, call } = context;
  const decision = { by: getOperatorName(values), reason: values.reason ?? null, maxResumes: null };
  const response = await resume(record, decision, db, call, (progress) => terminal.drawProgress(progress));
  const text = escapeJsonControls(response);
  terminal.print(values.json === true ? `${text}\n` : `Ready. From now on the client gets:\n\n  ${text}\n`);
}

async function releaseKey(record: KeyRecord, values: Options, context: CommandContext): Promise<number> {
  const { reason, yes } = values;
  if (reason === undefined) throw new UsageError('release needs --reason: it is kept with the key.');
  assertNotInProgress(record, context);
  if (yes !== true) {
    await context.terminal.confirm(
      `Release ${quote(record.boq_list_id)}: its lists stay failed, and the next request for it is a new attempt, ` +
        'with any payload. What was stored stays for the audit.',
      context.call.signal,
    );
  }
  await release(record, { by: getOperatorName(values), reason }, context.db, context.call);
  const released = { released: record.boq_list_id };
  context.terminal.print(
    values.json === true ? toJson(released) : 'Released. The client may send the request again.\n',
  );
  return 0;
}

const CONCURRENT_RESUMES = 4;

/** Without `--watch`, while resumes are under way. */
const SCAN_INTERVAL_MS = 10_000;

async function sweepKeys(values: Options, { terminal, db, call }: CommandContext): Promise<number> {
  const options = {
    maxResumes: parseMaxAttempts(values['max-attempts'] ?? '3'),
    dryRun: values['dry-run'] === true,
    concurrency: CONCURRENT_RESUMES,
    ...(values.watch === undefined
      ? ({ mode: 'until_idle', scanIntervalMs: SCAN_INTERVAL_MS } as const)
      : ({ mode: 'watch', scanIntervalMs: parseDuration('watch', values.watch) } as const)),
  };
  await sweep(db, call, options, {
    onResult: (result) => {
      const line = { time: call.clock.now(), ...result };
      terminal.print(values.json === true ? `${escapeJsonControls(JSON.stringify(line))}\n` : formatSweepResult(line));
    },
    onUnreadable: (path) => terminal.printError(`${describeUnreadable(path)}\n`),
    onScanFailed: (error) => terminal.printError(`The keys could not be read: ${describeError(error)}\n`),
  });
  return 0;
}

/** Fails before anything is asked; the state machine would reject the step as well. @throws CommandError */
function assertNotInProgress(record: KeyRecord, { call }: CommandContext): void {
  if (!isInProgress(record, call.clock.now())) return;
  const until = new Date(record.lease_expires_at).toISOString();
  throw new CommandError(`An attempt on the key is in progress; its lease lasts until ${until}. Wait for it.`);
}

const getOperatorName = ({ by }: Options): string => by ?? userInfo().username;

const toJson = (value: unknown): string => `${escapeJsonControls(JSON.stringify(value, null, 2))}\n`;
