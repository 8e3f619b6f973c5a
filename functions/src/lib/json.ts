import { PayloadTooLargeError, ValidationError } from './errors';

/**
 * What to read from a JSON text. Nothing else in the text becomes a value, so the sender cannot choose the objects that the service
 * builds, or the names of their members (docs/decisions/0003-body-after-key.md).
 */
export type Shape =
  /** A string, number, boolean or null. An object or an array is read as an empty one. */
  | { kind: 'scalar' }
  /** An object of which only these members are read. If the text repeats a member, the last one counts. */
  | { kind: 'object'; members: readonly Member[] }
  /** An object whose member names the sender chooses. It is read as a Map, in which the last value of each name counts. */
  | { kind: 'map'; values: Shape };

export interface Member {
  name: string;
  shape: Shape;
}

/** Maximum number of levels of nested JSON. RFC 8259 allows a limit, and this one is the default of some parsers, such as Jackson. */
export const MAX_DEPTH = 1_000;

const code = (character: string): number => character.charCodeAt(0);

const [QUOTE, BACKSLASH, COMMA, COLON] = [code('"'), code('\\'), code(','), code(':')];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [code('{'), code('}'), code('['), code(']')];
const [MINUS, PLUS, POINT, ZERO, NINE] = [code('-'), code('+'), code('.'), code('0'), code('9')];
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = [code(' '), code('\t'), code('\n'), code('\r')];
const [LETTER_E, LETTER_U] = [code('e'), code('u')];
/** The bit that distinguishes the lowercase of an ASCII letter from its uppercase. */
const LOWERCASE = 0x20;

const WORDS = new Map<number | undefined, [word: string, value: boolean | null]>([
  [code('t'), ['true', true]],
  [code('f'), ['false', false]],
  [code('n'), ['null', null]],
]);

const ESCAPES = new Set(Array.from('"\\/bfnrt', code));

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const EMPTY_OBJECT: object = Object.freeze({});
const EMPTY_ARRAY: object = Object.freeze([]);

export const invalidBody = (message: string) => new ValidationError([{ path: 'body', message }]);

/**
 * Checks that a text is JSON (RFC 8259), nested at most {@link MAX_DEPTH} levels deep, and reads from it what a shape
 * names. A byte order mark at its start is skipped.
 *
 * @param text valid UTF-8
 * @param maxEntries maximum number of members of all maps
 * @returns a value of the shape; where the text has another kind of value, a scalar or an empty object or array. A number -0 is 0.
 * @throws ValidationError with the path `body`, PayloadTooLargeError
 */
export function scanJson(text: Buffer, shape: Shape, maxEntries: number): unknown {
  return new Scanner(text, maxEntries).scanText(shape);
}

class Scanner {
  #at = 0;
  #depth = 0;
  #entries = 0;

  constructor(
    private readonly text: Buffer,
    private readonly maxEntries: number,
  ) {}

  scanText(shape: Shape): unknown {
    if (BYTE_ORDER_MARK.every((byte, i) => this.text[i] === byte)) this.#at = BYTE_ORDER_MARK.length;
    const value = this.#scanValue(shape);
    if (this.#peek() !== undefined) this.#fail();
    return value;
  }

  /** @param shape undefined for a value that is only checked. The caller does not use the result for such a value */
  #scanValue(shape: Shape | undefined): unknown {
    const first = this.#peek();
    if (first === QUOTE) {
      const start = this.#at;
      const hasEscapes = this.#scanString();
      return shape && this.#decodeString(start, hasEscapes);
    }
    if (first === OPEN_OBJECT) return this.#scanObject(shape);
    if (first === OPEN_ARRAY) return this.#scanArray(shape);
    if (first === MINUS || isDigit(first)) {
      const start = this.#at;
      this.#scanNumber();
      // Adding 0 turns -0 into 0.
      return shape && Number(this.text.toString('latin1', start, this.#at)) + 0;
    }
    return this.#scanWord(first);
  }

  #scanObject(shape: Shape | undefined): unknown {
    const object: Record<string, unknown> | undefined = shape?.kind === 'object' ? {} : undefined;
    const map = shape?.kind === 'map' ? new Map<string, unknown>() : undefined;
    this.#enter();
    if (this.#peek() !== CLOSE_OBJECT) {
      do {
        if (this.#peek() !== QUOTE) this.#fail();
        const start = this.#at;
        const hasEscapes = this.#scanString();
        const end = this.#at;
        if (this.#peek() !== COLON) this.#fail();
        this.#at += 1;
        if (shape?.kind === 'map') {
          this.#countEntry();
          const name = this.#decodeString(start, hasEscapes, end);
          map?.set(name, this.#scanValue(shape.values));
        } else {
          const member = shape?.kind === 'object' ? this.#findMember(shape.members, start, end, hasEscapes) : undefined;
          const value = this.#scanValue(member?.shape);
          if (object !== undefined && member !== undefined) object[member.name] = value;
        }
      } while (this.#skipComma());
    }
    this.#leave(CLOSE_OBJECT);
    return map ?? object ?? (shape && EMPTY_OBJECT);
  }

  #scanArray(shape: Shape | undefined): unknown {
    this.#enter();
    if (this.#peek() !== CLOSE_ARRAY) {
      do this.#scanValue(undefined);
      while (this.#skipComma());
    }
    this.#leave(CLOSE_ARRAY);
    return shape && EMPTY_ARRAY;
  }

  #enter(): void {
    this.#at += 1;
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH)
      throw invalidBody(`Expected JSON nested at most ${MAX_DEPTH} levels deep, received more levels`);
  }

  #leave(close: number): void {
    if (this.#peek() !== close) this.#fail();
    this.#at += 1;
    this.#depth -= 1;
  }

  #skipComma(): boolean {
    if (this.#peek() !== COMMA) return false;
    this.#at += 1;
    return true;
  }

  #countEntry(): void {
    this.#entries += 1;
    if (this.#entries > this.maxEntries) throw new PayloadTooLargeError('products', this.maxEntries);
  }

  /** Finds a member by the bytes of its name, so that another name becomes a string only if it is short and has escapes. */
  #findMember(members: readonly Member[], start: number, end: number, hasEscapes: boolean): Member | undefined {
    // The string includes its quotation marks. An escape takes up to six bytes for one character.
    const bytes = end - start - 2;
    if (!hasEscapes) return members.find(({ name }) => bytes === name.length && this.#hasName(name, start + 1));
    if (members.every(({ name }) => bytes > 6 * name.length)) return undefined;
    const decoded = this.#decodeString(start, true, end);
    return members.find(({ name }) => name === decoded);
  }

  /** @param name of ASCII characters */
  #hasName(name: string, start: number): boolean {
    for (let i = 0; i < name.length; i += 1) if (this.text[start + i] !== name.charCodeAt(i)) return false;
    return true;
  }

  /** Moves past a string. @returns whether it has escapes */
  #scanString(): boolean {
    const { text } = this;
    let hasEscapes = false;
    let at = this.#at + 1;
    for (;;) {
      const byte = text[at];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        hasEscapes = true;
        at = this.#skipEscape(at);
      } else if (byte !== undefined && byte >= SPACE) at += 1;
      else this.#fail(at);
    }
    this.#at = at + 1;
    return hasEscapes;
  }

  /** @returns the index after an escape */
  #skipEscape(start: number): number {
    const kind = this.text[start + 1];
    if (kind !== LETTER_U) {
      if (kind === undefined || !ESCAPES.has(kind)) this.#fail(start + 1);
      return start + 2;
    }
    for (let at = start + 2; at < start + 6; at += 1) if (!isHexDigit(this.text[at])) this.#fail(at);
    return start + 6;
  }

  /** `JSON.parse` is safe for a single string, because V8 confuses only names of members (docs/decisions/0003-body-after-key.md). */
  #decodeString(start: number, hasEscapes: boolean, end = this.#at): string {
    return hasEscapes
      ? (JSON.parse(this.text.toString('utf8', start, end)) as string)
      : this.text.toString('utf8', start + 1, end - 1);
  }

  #scanNumber(): void {
    if (this.text[this.#at] === MINUS) this.#at += 1;
    if (this.text[this.#at] === ZERO) this.#at += 1;
    else this.#scanDigits();
    if (this.text[this.#at] === POINT) {
      this.#at += 1;
      this.#scanDigits();
    }
    if (((this.text[this.#at] ?? 0) | LOWERCASE) === LETTER_E) {
      this.#at += 1;
      const sign = this.text[this.#at];
      if (sign === PLUS || sign === MINUS) this.#at += 1;
      this.#scanDigits();
    }
  }

  /** Moves past one or more digits. */
  #scanDigits(): void {
    const { text } = this;
    if (!isDigit(text[this.#at])) this.#fail();
    while (isDigit(text[this.#at])) this.#at += 1;
  }

  #scanWord(first: number | undefined): boolean | null {
    const [word, value] = WORDS.get(first) ?? this.#fail();
    for (let i = 0; i < word.length; i += 1) {
      if (this.text[this.#at + i] !== word.charCodeAt(i)) this.#fail(this.#at + i);
    }
    this.#at += word.length;
    return value;
  }

  /** Moves to the next byte that is not whitespace, and returns it; undefined at the end of the text. */
  #peek(): number | undefined {
    const { text } = this;
    for (;;) {
      const byte = text[this.#at];
      if (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB) return byte;
      this.#at += 1;
    }
  }

  #fail(at = this.#at): never {
    throw invalidBody(`Expected JSON, received ${this.text.length === 0 ? 'no body' : `other text at position ${at}`}`);
  }
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

function isHexDigit(byte: number | undefined): boolean {
  const letter = (byte ?? 0) | LOWERCASE;
  return isDigit(byte) || (letter >= code('a') && letter <= code('f'));
}
