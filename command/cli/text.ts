import { basename, relative } from 'node:path';
import stringWidth from 'string-width';

/** Matches the characters that a person sees: all others could look like nothing or like a space, or control a terminal. */
const VISIBLE =
  /^[[\p{L}\p{M}\p{N}\p{P}\p{S} ]--[\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{1d159}]]$/v;

/** Returns whether a person sees a character in a terminal, a page or a spreadsheet. A space counts as seen. */
export const isVisible = (character: string): boolean => VISIBLE.test(character);

/**
 * Escapes the characters of stored text that nobody sees, in JSON's notation, so that no terminal obeys them and no
 * difference stays invisible.
 */
export const escapeControls = (text: string): string => escapeUnless(isVisible, text);

/** As {@link escapeControls}, but keeps line feeds. JSON text keeps its value. */
export const escapeJsonControls = (json: string): string =>
  escapeUnless((character) => character === '\n' || isVisible(character), json);

const escapeUnless = (isKept: (character: string) => boolean, text: string): string =>
  PLAIN.test(text) ? text : Array.from(text, (each) => (isKept(each) ? each : toEscape(each))).join('');

/** Matches a text of printable ASCII characters, as most are, so that a large text is not split into characters. */
const PLAIN = /^[ -~]*$/;

/** Returns stored text in quotation marks. */
export const quote = (text: string): string => escapeControls(JSON.stringify(text));

const MAX_ID_LENGTH = 100;

/** Returns an id in quotation marks. Cuts a long id, which would hide the text around it. */
export const quoteId = (id: string): string => (isShort(id) ? quote(id) : `${quote(id.slice(0, MAX_ID_LENGTH))}…`);

/** Returns a word as you type it in a shell, in quotation marks if it needs them. */
export const quoteForShell = (word: string): string =>
  /^[\w:./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** Returns what starts this command: npx in a clone, or node with the file of a release. With `--no`, npx installs no package, and with `--` it leaves all options to the command. */
export function getProgram(file = process.argv[1] ?? ''): string {
  return basename(file) === 'price-lists.cjs' ? `node ${quoteForShell(relative('', file))}` : 'npx --no -- price-lists';
}

const isShort = (id: string): boolean => id.length <= MAX_ID_LENGTH;

const toEscape = (control: string): string =>
  control
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

const characters = new Intl.Segmenter('en');

/** Cuts a text at a whole character, so that it takes at most `width` columns of a terminal. */
export function cut(text: string, width: number): string {
  let used = 0;
  for (const { segment, index } of characters.segment(text)) {
    used += stringWidth(segment);
    if (used > width) return text.slice(0, index);
  }
  return text;
}

/** Returns a text as a cell of a table, `width` columns wide. A text that is too long is cut, and ends with an ellipsis. */
export function fit(text: string, width: number): string {
  const shown = stringWidth(text) > width ? `${cut(text, width - 1)}…` : text;
  return shown + ' '.repeat(width - stringWidth(shown));
}

export const formatNumber = (number: number): string => number.toLocaleString('en');

export const count = (number: number, thing: string): string =>
  `${formatNumber(number)} ${thing}${number === 1 ? '' : 's'}`;
