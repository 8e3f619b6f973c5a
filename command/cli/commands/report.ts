import { isReadable } from '../../records/find';
import { readRequests, type AcceptedRequest, type RequestRow } from '../../records/accepted-requests';
import { type Outcome } from '../../../functions/src/lib/market-facts';
import type { KeyStatus } from '../../../functions/src/lib/schemas/key-record';
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
  outcome?: Outcome[];
  csv?: true;
  json?: true;
}

export async function report(options: ReportOptions, context: CommandContext): Promise<number> {
  const { terminal, db, workContext } = context;
  const { from, to, market, sender, status, outcome, csv, json } = options;
  const isWanted = (row: RequestRow) =>
    (market === undefined || row.market_id === market) &&
    (sender === undefined || row.sender === sender) &&
    (status === undefined || status.some((each) => each === row.status)) &&
    (outcome === undefined || outcome.some((each) => each === row.outcome));
  const { header, formatRow } = json ? JSON_LINES : csv ? CSV : createTable(terminal.streams.stdout.columns);
  const write = (text: string) => (csv ? writeCsv(text, context) : terminal.write(text, workContext.signal));
  let read = 0;
  let shown = 0;
  let billed = 0;
  await write(header);
  for await (const { requests, documentReads } of readRequests(db, workContext, from, to)) {
    const rows = requests.map(toReportRow).filter(isWanted);
    read += requests.length;
    billed += documentReads;
    shown += rows.length;
    for (const row of rows) await write(formatRow(row));
  }
  const summary = `${count(shown, 'request')} shown, ${formatNumber(read)} read. ${count(billed, 'document read')}.`;
  terminal.printError(`${summary}${shown === 0 ? ' No accepted request matches the options.' : ''}\n`);
  return 0;
}

interface ReportRow extends RequestRow {
  /** What an operator does next if the payload is usable; null for ready lists, and if no readable key record describes the attempt. */
  next: NextStep;
}

const toReportRow = ({ row, key }: AcceptedRequest): ReportRow => ({
  ...row,
  next: key !== undefined && isReadable(key) ? getNextStep(key) : null,
});

interface Format {
  header: string;
  formatRow: (row: ReportRow) => string;
}

const JSON_LINES: Format = { header: '', formatRow: toJsonLine };

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
  'outcome',
  'failure_cause',
  'next',
  'expected_forward_cost_id',
  'price_list_id',
  'document_id',
] as const;

const CSV: Format = {
  header: formatCsv(CSV_COLUMNS, true),
  formatRow: ({ created_at, ...row }) => {
    const accepted_at = toTime(created_at).replace(' UTC', 'Z').replace(' ', 'T');
    return formatCsv(CSV_COLUMNS.map((name) => ({ ...row, accepted_at })[name]));
  },
};

type Cell = string | number | null;

/** The columns of the table, the most useful first, because lines are cut to the width of the terminal. */
const TABLE: readonly [title: string, width: number, get: (row: ReportRow) => Cell][] = [
  ['accepted (UTC)', 16, ({ created_at }) => toTime(created_at).slice(0, 16)],
  ['boq_list_id', 24, ({ boq_list_id }) => boq_list_id],
  ['status', 15, ({ status }) => status],
  ['outcome', 14, ({ outcome }) => outcome],
  ['next', 7, ({ next }) => next],
  ['month', 7, ({ month }) => month],
  ['market', 12, ({ market_id }) => market_id],
  ['currency', 8, ({ currency_sent, currency_stored }) => formatCurrency(currency_sent, currency_stored)],
  ['products', 8, ({ products }) => products],
  ['sender', 12, ({ sender }) => sender],
  ['cause', 13, ({ failure_cause }) => failure_cause],
  ['name', 40, ({ name }) => name],
];

/** Returns both currencies if both are known and differ, otherwise the request's. */
const formatCurrency = (sent: string | null, stored: string | null): string | null =>
  sent === null || stored === null || sent === stored ? sent : `${sent}→${stored}`;

/** @param columns of the terminal; 0 for a pseudo-terminal without a size, and undefined if the output is not a terminal */
function createTable(columns: number | undefined): Format {
  const formatLine = (cells: readonly Cell[]) => {
    const line = TABLE.map(([, width], i) => fit(escapeControls(String(cells[i] ?? '')), width)).join('  ');
    return `${(columns ? cut(line, columns) : line).trimEnd()}\n`;
  };
  const header = formatLine(TABLE.map(([title]) => title));
  return { header, formatRow: (row) => formatLine(TABLE.map(([, , get]) => get(row))) };
}

const toTime = (ms: number | null): string => (ms === null ? '' : formatTime(ms));
