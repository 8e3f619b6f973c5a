export interface ParsedJson extends MemberNames {
  value: unknown;
}

export interface MemberNames {
  /** Returns the name that the text has for a member of `value`. */
  getName: (member: string) => string;
  /** Returns the member of `value` that has a name in the text. */
  getMember: (name: string) => string;
}

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const OPENERS_AND_COMMA = new Set(Array.from('{[,', (character) => character.charCodeAt(0)));
const SPACES = new Set(Array.from(' \t\n\r', (character) => character.charCodeAt(0)));

/**
 * Parses a JSON text with `JSON.parse`, but never gives it a member name with a backslash. V8 in Node 24 can
 * confuse such a name with one that it has parsed before (https://github.com/nodejs/node/issues/63785), so the
 * body of one client could change the meaning of another client's (docs/decisions/0003-body-after-key.md).
 *
 * @throws SyntaxError; its message has a position only if it is one in this text
 */
export function parseJson(text: string): ParsedJson {
  if (!text.includes('\\')) return { value: JSON.parse(text) as unknown, getName: toSame, getMember: toSame };
  let rewritten: string | undefined;
  try {
    rewritten = rewriteNames(text);
    return { value: JSON.parse(rewritten) as unknown, getName: decodeName, getMember: encodeName };
  } catch (error) {
    throw rewritten === text ? error : new SyntaxError('a text with rewritten names is not JSON', { cause: error });
  }
}

const toSame = (name: string): string => name;

/** Begins an encoded name, and each code unit in it that is encoded. */
const MARK = '~';

/** Encodes a name so that JSON writes it without a backslash. No two names have the same encoding. */
const encodeName = (name: string): string =>
  name.startsWith(MARK) || JSON.stringify(name).includes('\\')
    ? MARK +
      name.replace(/[~"\\\0-\x1f\ud800-\udfff]/g, (unit) => MARK + unit.charCodeAt(0).toString(16).padStart(4, '0'))
    : name;

const decodeName = (code: string): string =>
  code.startsWith(MARK)
    ? code.slice(1).replace(/~(.{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : code;

/** Encodes the names that have a backslash or begin with {@link MARK}. @throws SyntaxError */
function rewriteNames(text: string): string {
  let rewritten = '';
  let parts: string[] = [];
  let copied = 0;
  for (let start = text.indexOf('"'); start !== -1;) {
    const end = findStringEnd(text, start);
    if (isName(text, end)) {
      const written = text.slice(start, end);
      if (written.includes('\\') || written.startsWith(MARK, 1)) {
        parts.push(text.slice(copied, start), `"${encodeName(JSON.parse(written) as string)}"`);
        copied = end;
      }
    }
    // Joins the parts from time to time, because a part takes more memory than its text.
    if (parts.length > 10_000) {
      rewritten += parts.join('');
      parts = [];
    }
    start = text.indexOf('"', end);
  }
  return copied === 0 ? text : rewritten + parts.join('') + text.slice(copied);
}

/** Returns whether a colon follows the string that ends at an index. */
function isName(text: string, end: number): boolean {
  let index = end;
  while (SPACES.has(text.charCodeAt(index))) index += 1;
  return text.charAt(index) === ':';
}

/** @param start index of the opening quotation mark. @returns index after the closing one, or of the end of the text */
function findStringEnd(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) return index + 1;
    if (code === BACKSLASH) index += 1;
  }
  return text.length;
}

/**
 * Counts the commas and opening brackets outside strings. A JSON text has at most one more value than this count, and
 * no more member names.
 */
export function countValues(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = findStringEnd(text, index) - 1;
    else if (OPENERS_AND_COMMA.has(code)) count += 1;
  }
  return count;
}
