import { randomBytes } from 'node:crypto';

export interface ParsedJson {
  value: unknown;
  /** Returns the name that the text has for a member of `value`. */
  getName(member: string): string;
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
 * @throws SyntaxError; its message has a position in the text only if the text has no escaped name
 */
export function parseJson(text: string): ParsedJson {
  const names = new EscapedNames();
  const rewritten = text.includes('\\') ? rewriteNames(text, names) : text;
  try {
    return { value: JSON.parse(rewritten) as unknown, getName: (member) => names.getName(member) };
  } catch (error) {
    throw rewritten === text ? error : new SyntaxError('a text with escaped names is not JSON', { cause: error });
  }
}

/** The names of a text that need an escape, each replaced by a placeholder. */
class EscapedNames {
  /** No client can guess it, so no name of a text begins with it. */
  readonly #prefix = randomBytes(6).toString('base64url');
  readonly #indexes = new Map<string, number>();
  readonly #names: string[] = [];

  getName(member: string): string {
    if (!member.startsWith(this.#prefix)) return member;
    return this.#names[Number(member.slice(this.#prefix.length))] ?? member;
  }

  /** Writes a name without a backslash: as it is, or as its placeholder. @throws SyntaxError */
  rewrite(written: string): string {
    const name = JSON.parse(written) as string;
    const plain = JSON.stringify(name);
    if (!plain.includes('\\')) return plain;
    const index = this.#indexes.get(name) ?? this.#names.push(name) - 1;
    this.#indexes.set(name, index);
    return `"${this.#prefix}${index}"`;
  }
}

/** @throws SyntaxError */
function rewriteNames(text: string, names: EscapedNames): string {
  const parts: string[] = [];
  let copied = 0;
  let backslash = -1;
  for (let start = text.indexOf('"'); start !== -1;) {
    const end = findStringEnd(text, start);
    if (backslash < start) backslash = text.indexOf('\\', start);
    if (backslash === -1) break;
    if (backslash < end && isName(text, end)) {
      parts.push(text.slice(copied, start), names.rewrite(text.slice(start, end)));
      copied = end;
    }
    start = text.indexOf('"', end);
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(copied);
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
 * Counts the commas and opening brackets outside strings. A text has at most one more value than that, and one
 * more member name.
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
