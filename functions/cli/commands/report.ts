import { isReadable } from '../../records/find';
import { readRequests, type AcceptedRequest, type RequestRow } from '../../records/requests';
import type { KeyStatus } from '../../src/lib/schemas/key-record';
import { formatCsv, writeCsv } from '../csv';
import { getNextStep, type NextStep } from '../facts';
import { formatTime } from '../format';
import { count, cut, escapeControls, fit, formatNumber } from '../text';
import { toJsonLine, type CommandContext } from './context';

export interface ReportOptions {
  /** Unix milliseconds. `from` is inclusive and `to` exclusive. */
  from?: number;
  to?: number;
  market?: string;
  sender?: string;
  status?: KeyStatus[];
  csv?: true;
  json?: true;
}

/** Prints one row for each accepted request that the options select, newest first. */
export async function report(options: ReportOptions, context: CommandContext): Promise<number> {
  const { terminal, db, workContext } = context;
  const { from, to, market, sender, status } = options;
  const isWanted = (row: RequestRow) =>
    (market === undefined || row.market_id === market) &&
    (sender === undefined || row.sender === sender) &&
    (status === undefined || status.some((each) => each === row.status));
  let read = 0;
  let shown = 0;
  let billed = 0;
  await writeHeader(options, context);
  for await (const { requests, documentReads } of readRequests(db, workContext, { from, to })) {
    const rows = requests.map(toReportRow).filter(isWanted);
    read += requests.length;
    billed += documentReads;
    shown += rows.length;
    await writeRows(rows, options, context);
  }
  const summary = `${count(shown, 'request')} shown, ${formatNumber(read)} read. ${count(billed, 'document read')}.`;
  terminal.printError(`${summary}${shown === 0 ? ` ${describeNothing(options)}` : ''}\n`);
  return 0;
}

/** Says that the options select nothing, because a wrong one would otherwise look like a quiet month. */
const describeNothing = ({ from = -Infinity, to = Infinity }: ReportOptions): string =>
  from < to
    ? 'No accepted request matches the options.'
    : 'No day is selected, because --to, the first day that is left out, is not later than --from.';

interface ReportRow extends RequestRow {
  /** For the present attempt of a key. */
  next: NextStep;
}

const toReportRow = ({ row, key }: AcceptedRequest): ReportRow => ({
  ...row,
  next: key !== undefined && isReadable(key) ? getNextStep(key) : null,
});

/** The columns of the table, the most useful first, because lines are cut to the width of the terminal. */
const TABLE: readonly { title: string; width: number; get: (row: ReportRow) => string | number | null }[] = [
  { title: 'accepted (UTC)', width: 16, get: ({ created_at }) => toTime(created_at).slice(0, 16) },
  { title: 'boq_list_id', width: 24, get: ({ boq_list_id }) => boq_list_id },
  { title: 'status', width: 15, get: ({ status }) => status },
  { title: 'next', width: 7, get: ({ next }) => next },
  { title: 'month', width: 7, get: ({ month }) => month },
  { title: 'market', width: 12, get: ({ market_id }) => market_id },
  {
    title: 'currency',
    width: 8,
    get: ({ currency_sent, currency_stored }) => formatCurrency(currency_sent, currency_stored),
  },
  { title: 'products', width: 8, get: ({ products }) => products },
  { title: 'sender', width: 12, get: ({ sender }) => sender },
  { title: 'cause', width: 13, get: ({ failure_cause }) => failure_cause },
  { title: 'name', width: 40, get: ({ name }) => name },
];

/** Returns both currencies if they differ, otherwise the request's. */
const formatCurrency = (sent: string | null, stored: string | null): string | null =>
  sent === null || stored === null || sent === stored ? sent : `${sent}→${stored}`;

const CSV_COLUMNS = [
  'accepted_at',
  'boq_list_id',
  'name',
  'month',
  'market_id',
  'sender',
  'currency_sent',
  'currency_stored',
  'products',
  'status',
  'failure_cause',
  'next',
  'expected_forward_cost_id',
  'price_list_id',
  'document_id',
] as const;

async function writeHeader({ csv, json }: ReportOptions, context: CommandContext): Promise<void> {
  if (csv === true) await writeCsv(formatCsv([CSV_COLUMNS], true), context);
  else if (json !== true)
    await writeLine(
      TABLE.map(({ title }) => title),
      context,
    );
}

async function writeRows(
  rows: readonly ReportRow[],
  { csv, json }: ReportOptions,
  context: CommandContext,
): Promise<void> {
  if (csv === true) {
    const cells = rows.map(({ created_at, ...row }) => {
      const shown = { ...row, accepted_at: toIsoTime(created_at) };
      return CSV_COLUMNS.map((name) => shown[name]);
    });
    if (cells.length > 0) await writeCsv(formatCsv(cells), context);
  } else if (json === true) {
    for (const row of rows) await context.terminal.write(toJsonLine(row), context.workContext.signal);
  } else {
    for (const row of rows)
      await writeLine(
        TABLE.map(({ get }) => get(row)),
        context,
      );
  }
}

const toTime = (ms: number | null): string => (ms === null ? '' : formatTime(ms));

const toIsoTime = (ms: number | null): string => toTime(ms).replace(' UTC', 'Z').replace(' ', 'T');

function writeLine(
  cells: readonly (string | number | null)[],
  { terminal, workContext }: CommandContext,
): Promise<void> {
  const line = cells.map((cell, i) => fit(escapeControls(String(cell ?? '')), TABLE[i]?.width ?? 0)).join('  ');
  const { columns } = terminal.streams.stdout;
  // A pseudo-terminal without a size has 0 columns.
  const shown = columns ? cut(line, columns) : line;
  return terminal.write(`${shown.trimEnd()}\n`, workContext.signal);
}
