import { PayloadTooLargeError, type PayloadLimit } from '../errors';
import { JsonSyntaxError } from './body-parser';
import { Chunk } from './chunk';
import { MemberBuffer, type MemberHandler } from './member-buffer';
import { findSyntaxError } from './syntax-error';

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export interface StreamingJsonOptions {
  /** The member of the outermost object whose members are streamed. */
  streamedMember: string;
  /** For the text outside the streamed member. */
  envelopeLimit: PayloadLimit;
  /** For each name, and each value, in the streamed member. */
  memberLimit: PayloadLimit;
}

/** Text outside the streamed member. */
interface EnvelopePart {
  text: string;
  byteOffset: number;
}

/**
 * Parses the JSON of an object with one member, itself an object, that may be too large for memory. Accepts the texts that
 * `JSON.parse` accepts, which does the parsing: here the text is only cut at the members' colons, commas and braces.
 *
 * Members are parsed in batches, as an array of names and values in turn. In an object, V8 of Node 24 may confuse escaped
 * names (https://github.com/nodejs/node/issues/63785): a price would be stored for another product.
 */
export class StreamingJsonParser {
  readonly #options: StreamingJsonOptions;
  readonly #handler: MemberHandler;
  #envelope: EnvelopePart[] = [];
  #envelopeBytes = 0;
  /** How many objects and arrays are open. */
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The last string directly in the outermost object since a comma; before a brace, the member's name. */
  #lastKey = '';
  /** While the streamed member is open. */
  #memberBuffer: MemberBuffer | undefined;
  #byteOffset = 0;
  #syntaxError: JsonSyntaxError | undefined;

  constructor(options: StreamingJsonOptions, handler: MemberHandler) {
    this.#options = options;
    this.#handler = handler;
  }

  /** @throws PayloadTooLargeError */
  write(text: string): void {
    if (this.#syntaxError !== undefined) return;
    const chunk = new Chunk(text, this.#byteOffset);
    for (let i = this.#inString ? this.#skipString(chunk, 0, 0) + 1 : 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      switch (code) {
        case QUOTE:
          if (this.#depth === 1) this.#lastKey = '';
          i = this.#skipString(chunk, i, i + 1);
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          this.#depth += 1;
          if (this.#depth === 2 && code === OPEN_OBJECT) this.#openObject(chunk, i);
          break;
        case COLON:
        case COMMA:
          if (this.#depth === 1 && code === COMMA) this.#lastKey = '';
          if (this.#depth === 2) this.#endToken(chunk, i, code === COLON);
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#depth -= 1;
          if (this.#depth === 1) this.#closeObject(chunk, i);
          break;
      }
    }
    this.#endChunk(chunk);
  }

  /**
   * @returns the value, with the streamed member empty
   * @throws JsonSyntaxError
   */
  end(): unknown {
    if (this.#memberBuffer === undefined && this.#syntaxError === undefined) {
      try {
        return JSON.parse(this.#envelope.map(({ text }) => text).join('')) as unknown;
      } catch {
        // Located below.
      }
    }
    throw (this.#syntaxError ??= this.#locateSyntaxError(''));
  }

  /**
   * @param start index of the string's opening quote, or 0 in a later chunk
   * @param from index of the first character to look at
   * @returns index of the closing quote, or the chunk's length
   */
  #skipString(chunk: Chunk, start: number, from: number): number {
    const { text } = chunk;
    let i = from;
    this.#inString = true;
    while (i < text.length) {
      if (!this.#isEscaped) i = chunk.nextInString(i);
      if (!this.#isEscaped && text.charCodeAt(i) === QUOTE) {
        this.#inString = false;
        break;
      }
      this.#isEscaped = !this.#isEscaped && i < text.length;
      i += 1;
    }
    if (this.#depth === 1) this.#lastKey += text.slice(start, i + 1);
    return Math.min(i, text.length);
  }

  #openObject(chunk: Chunk, index: number): void {
    if (this.#syntaxError !== undefined || !this.#isStreamedMember()) return;
    this.#addEnvelopePart(chunk, index + 1);
    const byteOffset = chunk.byteOffsetAt(index + 1);
    this.#memberBuffer = new MemberBuffer(this.#handler, byteOffset, this.#options.memberLimit);
  }

  #endToken(chunk: Chunk, index: number, isName: boolean): void {
    if (this.#memberBuffer === undefined) return;
    const isJson = this.#memberBuffer.endToken(chunk.takePart(index), isName);
    if (!isJson) this.#syntaxError = this.#locateSyntaxError(chunk.text.charAt(index));
    chunk.partStart = index + 1;
  }

  #closeObject(chunk: Chunk, index: number): void {
    if (this.#memberBuffer === undefined) return;
    const isJson = this.#memberBuffer.end(chunk.takePart(index));
    if (!isJson) this.#syntaxError = this.#locateSyntaxError(chunk.text.charAt(index));
    this.#memberBuffer = undefined;
  }

  #endChunk(chunk: Chunk): void {
    const { length } = chunk.text;
    if (this.#memberBuffer === undefined) this.#addEnvelopePart(chunk, length);
    else this.#memberBuffer.append(chunk.takePart(length));
    this.#byteOffset = chunk.byteOffsetAt(length);
  }

  #addEnvelopePart(chunk: Chunk, end: number): void {
    if (this.#syntaxError !== undefined) return;
    const byteOffset = chunk.byteOffsetAt(chunk.partStart);
    this.#envelope.push({ byteOffset, text: chunk.takePart(end) });
    this.#envelopeBytes += chunk.byteOffsetAt(end) - byteOffset;
    if (this.#envelopeBytes > this.#options.envelopeLimit.bytes)
      throw new PayloadTooLargeError(this.#options.envelopeLimit);
  }

  #isStreamedMember(): boolean {
    if (!this.#lastKey.includes('\\')) return this.#lastKey === `"${this.#options.streamedMember}"`;
    try {
      return JSON.parse(this.#lastKey) === this.#options.streamedMember;
    } catch {
      return false;
    }
  }

  /**
   * Locates the first error, which may be before the one that was noticed, and drops all text.
   *
   * @param terminator the character at which the members proved not to be JSON, empty at the end of the text
   */
  #locateSyntaxError(terminator: string): JsonSyntaxError {
    const text = this.#envelope.map((part) => part.text).join('');
    const index = findSyntaxError(text) ?? text.length;
    const byteOffset =
      index === text.length && this.#memberBuffer !== undefined
        ? this.#memberBuffer.locateSyntaxError(terminator)
        : this.#envelopeByteOffset(index);
    this.#memberBuffer = undefined;
    this.#envelope = [];
    return new JsonSyntaxError(byteOffset, terminator === '' && byteOffset === this.#byteOffset);
  }

  #envelopeByteOffset(index: number): number {
    let start = 0;
    for (const { text, byteOffset } of this.#envelope) {
      if (index < start + text.length) return byteOffset + Buffer.byteLength(text.slice(0, index - start));
      start += text.length;
    }
    return this.#byteOffset;
  }
}
