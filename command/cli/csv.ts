import { stringify } from 'csv-stringify/sync';
import type { CommandContext } from './commands/context';
import { escapeJsonControls, isVisible } from './text';

/** The first character of a CSV file, by which spreadsheets recognise UTF-8. */
const BYTE_ORDER_MARK = '\ufeff';

type Cell = string | number | null;

/** The characters that begin a formula in a spreadsheet. */
const FORMULA = new Set('=+-@＝＋－＠');

/**
 * Formats a text so that no spreadsheet takes a part of it for a formula. Puts an apostrophe before a character that begins a
 * formula, if it is the first of the text or of a part. A part follows a character with which a spreadsheet can end a cell, such
 * as a semicolon or a tab. Quotation marks, spaces and invisible characters do not count as the first.
 */
function disarm(text: string): string {
  let result = '';
  let isStart = true;
  for (const character of text) {
    if (isStart && FORMULA.has(character)) result += "'";
    result += character;
    if (';\u061b'.includes(character)) isStart = true;
    else if (isVisible(character)) isStart &&= '" '.includes(character);
    // A control character, such as a tab or a line break, and the line and paragraph separators can end a cell.
    else isStart ||= ENDS_CELL.test(character);
  }
  return result;
}

const ENDS_CELL = /^[\p{Cc}\p{Zl}\p{Zp}]$/u;

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

const cast = { string: disarm };

/**
 * Writes CSV to the output. For a terminal, omits the byte order mark, ends each row with a line feed alone, and escapes all
 * characters that nobody sees, except line feeds.
 */
export function writeCsv(text: string, { terminal, workContext }: CommandContext): Promise<void> {
  const withoutMark = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  const shown = withoutMark.replace(/\r\n$/, '\n');
  const isTerminal = terminal.streams.stdout.isTTY === true;
  return terminal.write(isTerminal ? escapeJsonControls(shown) : text, workContext.signal);
}
