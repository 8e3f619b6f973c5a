import { stringify } from 'csv-stringify/sync';
import type { CommandContext } from './commands/context';
import { escapeJsonControls } from './text';

/** The first character of a CSV file, by which spreadsheets recognise UTF-8. */
const BYTE_ORDER_MARK = '\ufeff';

type Cell = string | number | null;

/**
 * A character that begins a formula in a spreadsheet: at the start of a text and, if the spreadsheet's list separator is
 * not a comma, after a semicolon, a tab or a line break. Quotation marks, spaces and invisible characters can precede it.
 */
const FORMULA = /(?<=(?:^|[;\u061b\p{Cc}\p{Zl}\p{Zp}])["\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]*)[=+\-@＝＋－＠]/gu;

/**
 * Formats a row as CSV (RFC 4180). An apostrophe precedes what a spreadsheet would take for a formula.
 *
 * @param header true for the first row of a file, which gets the byte order mark
 */
export function formatCsv(row: readonly Cell[], header = false): string {
  // All texts are quoted, because the library does not quote a text for a line feed alone.
  const options = { record_delimiter: 'windows', quoted_string: true, escape_formulas: true, cast } as const;
  return `${header ? BYTE_ORDER_MARK : ''}${stringify([[...row]], options)}`;
}

const cast = { string: (text: string): string => text.replace(FORMULA, "'$&") };

/** Writes CSV to the output. For a terminal, omits the byte order mark and escapes control characters of stored texts. */
export function writeCsv(text: string, { terminal, workContext }: CommandContext): Promise<void> {
  const shown = text.replace(BYTE_ORDER_MARK, '').replaceAll('\r\n', '\n');
  const isTerminal = terminal.streams.stdout.isTTY === true;
  return terminal.write(isTerminal ? escapeJsonControls(shown) : text, workContext.signal);
}
