import { readRequests, type RequestRow } from '../../records/requests';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { formatCsv, writeCsv } from '../csv';
import { formatTime } from '../format';
import { count, cut, escapeControls, fit, formatNumber } from '../text';
import { toJsonLine, type CommandContext } from './context';

export interface ReportOptions {
  /** Unix milliseconds. `from` is inclusive and `to` exclusive. */
  from?: number;
  to?: number;
  market?: string;
  sender?: string;
  status?: KeyRecord['status'][];
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
    (status === undefined || (row.status !== null && status.includes(row.status)));
  let read = 0;
  let shown = 0;
  await writeHeader(options, context);
  for await (const page of readRequests(db, workContext, { from, to })) {
    const rows = page.filter(isWanted);
    read += page.length;
    shown += rows.length;
    await writeRows(rows, options, context);
  }
  // For each request, its own record and that of its key are read.
  const summary = `${count(shown, 'request')} shown, ${formatNumber(read)} read. ${count(2 * read, 'document read')}.`;
  terminal.printError(`${summary}${shown === 0 ? ` ${describeNothing(options)}` : ''}\n`);
  return 0;
}

/** Says that the options select nothing, because a wrong one would otherwise look like a quiet month. */
const describeNothing = ({ from = -Infinity, to = Infinity }: ReportOptions): string =>
  from < to
    ? 'No accepted request matches the options.'
    : 'No day is selected, because --to, the first day that is left out, is not later than --from.';

/** The columns of the table, the most useful first, because lines are cut to the width of the terminal. */
const TABLE: readonly { title: string; width: number; get: (row: RequestRow) => string | number | null }[] = [
  { title: 'accepted (UTC)', width: 16, get: ({ created_at }) => formatTime(created_at).slice(0, 16) },
  { title: 'boq_list_id', width: 24, get: ({ boq_list_id }) => boq_list_id },
  { title: 'status', width: 15, get: ({ status }) => status },
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
  rows: readonly RequestRow[],
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

const toIsoTime = (ms: number): string => formatTime(ms).replace(' UTC', 'Z').replace(' ', 'T');

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
