import { PayloadTooLargeError, type PayloadLimit } from '../errors';
import { findSyntaxError } from './syntax-error';

/** Receives the members of an object that is too large for memory, in their order in the text. */
export interface MemberHandler {
  /** An object starts. Of several with the same name the last one counts, as with `JSON.parse`. */
  onObjectStart(): void;
  onMember(name: string, value: unknown): void;
}

const MAX_BATCH_MEMBERS = 1000;
/** Bounds what `JSON.parse` makes of one batch: up to 45 bytes of memory per character. */
const MAX_BATCH_LENGTH = 256 * 1024;

/** The members of an object that are not parsed yet. */
export class MemberBuffer {
  readonly #handler: MemberHandler;
  readonly #limit: PayloadLimit;
  /** Names and values in turn. */
  #tokens: string[] = [];
  #batchLength = 0;
  #batchByteOffset: number;
  #isFirstBatch = true;
  /** The next token, as far as it has arrived. */
  #pending = '';

  /**
   * @param byteOffset of the first member in the text
   * @param limit for one name, and for one value
   */
  constructor(handler: MemberHandler, byteOffset: number, limit: PayloadLimit) {
    this.#handler = handler;
    this.#batchByteOffset = byteOffset;
    this.#limit = limit;
    handler.onObjectStart();
  }

  /** Adds the start of a token, or more of it. @throws PayloadTooLargeError */
  append(text: string): void {
    this.#pending += text;
    if (this.#pending.length > this.#limit.bytes) throw new PayloadTooLargeError(this.#limit);
  }

  /**
   * Adds the end of a name, up to its colon, or of a value, up to its comma.
   *
   * @returns false if the members are not JSON
   * @throws PayloadTooLargeError
   */
  endToken(text: string, isName: boolean): boolean {
    const token = this.#pending + text;
    if (isLonger(token, this.#limit.bytes)) throw new PayloadTooLargeError(this.#limit);
    this.#pending = token;
    if ((this.#tokens.length % 2 === 0) !== isName) return false;
    this.#tokens.push(token);
    this.#pending = '';
    this.#batchLength += token.length;
    const isFull = this.#batchLength >= MAX_BATCH_LENGTH || this.#tokens.length >= 2 * MAX_BATCH_MEMBERS;
    return isName || !isFull || this.#parseBatch();
  }

  /**
   * Adds the end of the last value, up to the closing brace. There may be no member.
   *
   * @returns false if the members are not JSON
   */
  end(text: string): boolean {
    if (this.#isFirstBatch && this.#tokens.length === 0 && /^[ \t\n\r]*$/.test(this.#pending + text)) return true;
    return this.endToken(text, false) && this.#parseBatch();
  }

  /**
   * @param terminator the character at which the parser noticed the error, empty at the end of the text
   * @returns byte offset of the first error, of the text's end if the members lack only that
   */
  locateSyntaxError(terminator: string): number {
    const ended = this.#tokens.map((token, i) => token + (i % 2 === 0 ? ':' : ','));
    const rest = ended.join('') + this.#pending + terminator;
    const before = this.#isFirstBatch ? '{' : '{"":0,';
    const index = findSyntaxError(before + rest) ?? before.length + rest.length;
    return this.#batchByteOffset + Buffer.byteLength(rest.slice(0, index - before.length));
  }

  #parseBatch(): boolean {
    if (this.#tokens.length === 0) return true;
    // Not parsed as an object: see the class comment of StreamingJsonParser.
    const json = `[${this.#tokens.join()}]`;
    let flat: unknown[];
    try {
      flat = JSON.parse(json) as unknown[];
    } catch {
      return this.#failBatch();
    }
    for (let i = 0; i < flat.length; i += 2) {
      const name = flat[i];
      if (typeof name !== 'string') return this.#failBatch();
      this.#handler.onMember(name, flat[i + 1]);
    }
    // In the text every token has a separator after it; here it is one fewer, and two brackets.
    this.#batchByteOffset += Buffer.byteLength(json) - 1;
    this.#tokens = [];
    this.#batchLength = 0;
    this.#isFirstBatch = false;
    return true;
  }

  /** Leaves the last token pending, as its separator is not one between members. */
  #failBatch(): false {
    this.#pending = this.#tokens.pop() ?? '';
    return false;
  }
}

/** Whether a text has more bytes of UTF-8 than `bytes`; a UTF-16 code unit has 1 to 3. */
const isLonger = (text: string, bytes: number): boolean =>
  3 * text.length > bytes && (text.length > bytes || Buffer.byteLength(text) > bytes);
