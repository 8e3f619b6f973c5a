import { Tokenizer, TokenizerError, TokenType, type ParsedTokenInfo } from '@streamparser/json';
import { PayloadTooLargeError, type PayloadLimit } from '../errors';
import { JsonSyntaxError, type BodyParser } from './body-parser';
import { TokenText } from './token-text';

/** Receives the members of an object that is too large for memory, in their order in the text. */
export interface MemberHandler {
  /** An object starts. Of several with the same name the last one counts, as with `JSON.parse`. */
  onObjectStart(): void;
  onMember(name: string, value: unknown): void;
}

export interface StreamingJsonOptions {
  /** The member of the outermost object whose members are streamed. */
  streamedMember: string;
  /** For the text outside the streamed member. */
  envelopeLimit: PayloadLimit;
  /** For each name, and each value, in the streamed member. */
  memberLimit: PayloadLimit;
  handler: MemberHandler;
}

/** What a token may be: one of these, or a name or a value. */
const NAME = 1;
const COLON = 2;
const VALUE = 4;
const COMMA = 8;
const CLOSE = 16;

const OPENING_BRACE = 0x7b;

/** What the tokenizer gets before the text: until the end of a first string or number it skips byte order marks. */
const PREFIX = '""';

/**
 * Parses the JSON of an object with one member, itself an object, that may be too large for memory. Accepts the texts that
 * `JSON.parse` accepts. A library finds the tokens; here their order is checked and values are made of them.
 *
 * The library's own `TokenParser` takes 250 bytes of memory for an open array, so 256 MiB for a text of 1 MiB.
 */
export class StreamingJsonParser implements BodyParser<unknown> {
  readonly #options: StreamingJsonOptions | undefined;
  readonly #tokenizer = new Tokenizer();
  /** What may come next. */
  #expected = VALUE;
  /** Names and values in the open objects and arrays, outermost first. */
  #parts: unknown[] = [];
  /** Of each open object or array: where its own parts begin, and the token that closes it. */
  readonly #starts: number[] = [];
  readonly #closers: TokenType[] = [];
  /** Like all offsets here, with the prefix. */
  #byteLength = PREFIX.length;
  /** Bytes that do not count as text outside the streamed member. */
  #streamedBytes = PREFIX.length;
  /** While the streamed member is open: where it begins, and where the current name or value in it begins. */
  #streamStart = 0;
  #memberStart: number | undefined;
  /** Of the first syntax error. */
  #errorOffset: number | undefined;

  /** @param options without them, nothing is streamed */
  constructor(options?: StreamingJsonOptions) {
    this.#options = options;
    Object.assign(this.#tokenizer, { bufferedString: new TokenText(), bufferedNumber: new TokenText() });
    this.#tokenizer.onToken = () => undefined;
    this.#tokenizer.write(PREFIX);
    this.#tokenizer.onToken = (token) => this.#onToken(token);
  }

  /** @throws PayloadTooLargeError */
  write(text: string): void {
    const bytes = Buffer.from(text);
    const start = this.#byteLength;
    this.#byteLength += bytes.length;
    if (this.#errorOffset === undefined) this.#tokenize(() => this.#tokenizer.write(bytes));
    // After an error nothing tells the streamed member from the text outside it: any object may be it.
    if (this.#errorOffset !== undefined && bytes.includes(OPENING_BRACE, Math.max(0, this.#errorOffset - start)))
      this.#streamedBytes = Infinity;
    this.#assertWithinLimits(this.#byteLength);
  }

  /**
   * @returns the value, with the streamed member empty
   * @throws JsonSyntaxError
   */
  end(): unknown {
    if (this.#errorOffset === undefined) this.#tokenize(() => this.#tokenizer.end());
    if (this.#expected !== 0) this.#errorOffset ??= this.#byteLength;
    if (this.#errorOffset === undefined) return this.#parts[0];
    throw new JsonSyntaxError(this.#errorOffset - PREFIX.length, this.#errorOffset === this.#byteLength);
  }

  #tokenize(step: () => void): void {
    try {
      step();
    } catch (error) {
      const offset = this.#locate(error);
      this.#assertWithinLimits(offset);
      this.#errorOffset = offset;
      if (this.#memberStart !== undefined) this.#streamedBytes = Infinity;
      this.#memberStart = undefined;
      this.#parts = [];
    }
  }

  /** @returns offset of the first syntax error. @throws any other error */
  #locate(error: unknown): number {
    if (error instanceof JsonSyntaxError) return error.byteOffset + PREFIX.length;
    if (!(error instanceof TokenizerError)) throw error;
    const [, position, state] = /(?:position "(\d+)"\) in state |state: )([A-Z]+)/.exec(error.message) ?? [];
    const isExpected = (this.#expected & (state === 'STRING' ? NAME | VALUE : VALUE)) !== 0;
    if (state === 'START' || isExpected) return Number(position ?? this.#byteLength);
    // The tokenizer noticed an error within a token that must not even begin.
    return Reflect.get(this.#tokenizer, 'offset') as number;
  }

  #assertWithinLimits(offset: number): void {
    if (this.#options === undefined) return;
    const { envelopeLimit, memberLimit } = this.#options;
    if (this.#memberStart === undefined) {
      if (offset - this.#streamedBytes > envelopeLimit.bytes) throw new PayloadTooLargeError(envelopeLimit);
    } else if (offset - this.#memberStart > memberLimit.bytes) throw new PayloadTooLargeError(memberLimit);
  }

  #onToken({ token, value, offset }: ParsedTokenInfo): void {
    switch (token) {
      case TokenType.LEFT_BRACE:
      case TokenType.LEFT_BRACKET:
        this.#expect(VALUE, offset);
        this.#open(token === TokenType.LEFT_BRACE, offset);
        break;
      case TokenType.RIGHT_BRACE:
      case TokenType.RIGHT_BRACKET:
        this.#expect(token === this.#closers.at(-1) ? CLOSE : 0, offset);
        this.#close(token, offset);
        break;
      case TokenType.COLON:
        this.#expect(COLON, offset);
        this.#endMemberPart(offset);
        this.#expected = VALUE;
        break;
      case TokenType.COMMA:
        this.#expect(COMMA, offset);
        this.#endMemberPart(offset);
        this.#expected = this.#closers.at(-1) === TokenType.RIGHT_BRACE ? NAME : VALUE;
        break;
      default:
        this.#expect(token === TokenType.STRING ? NAME | VALUE : VALUE, offset);
        this.#parts.push(value);
        if ((this.#expected & NAME) !== 0) this.#expected = COLON;
        else this.#endValue();
    }
  }

  #expect(role: number, offset: number): void {
    if ((this.#expected & role) === 0) throw new JsonSyntaxError(offset - PREFIX.length, false);
  }

  #open(isObject: boolean, offset: number): void {
    const isMember = this.#starts.length === 1 && this.#closers[0] === TokenType.RIGHT_BRACE;
    this.#starts.push(this.#parts.length);
    this.#closers.push(isObject ? TokenType.RIGHT_BRACE : TokenType.RIGHT_BRACKET);
    this.#expected = (isObject ? NAME : VALUE) | CLOSE;
    if (isObject && isMember && this.#parts.at(-1) === this.#options?.streamedMember) {
      this.#assertWithinLimits(offset + 1);
      this.#memberStart = this.#streamStart = offset + 1;
      this.#options?.handler.onObjectStart();
    }
  }

  #close(token: TokenType, offset: number): void {
    this.#endMemberPart(offset);
    if (this.#memberStart !== undefined && this.#starts.length === 2) {
      this.#streamedBytes += offset - this.#streamStart;
      this.#memberStart = undefined;
    }
    this.#closers.pop();
    const start = this.#starts.pop() ?? 0;
    if (token === TokenType.RIGHT_BRACKET) this.#parts.push(this.#parts.splice(start));
    else this.#parts[start] = toObject(this.#parts, start);
    this.#endValue();
  }

  #endValue(): void {
    this.#expected = this.#starts.length > 0 ? COMMA | CLOSE : 0;
    if (this.#memberStart === undefined || this.#starts.length !== 2) return;
    const value = this.#parts.pop();
    this.#options?.handler.onMember(this.#parts.pop() as string, value);
  }

  /** At a colon, comma or brace: ends a name or value of the streamed member, if there is one. */
  #endMemberPart(offset: number): void {
    if (this.#memberStart === undefined || this.#starts.length !== 2) return;
    this.#assertWithinLimits(offset);
    this.#memberStart = offset + 1;
  }
}

/** Makes an object of names and values in turn. */
function toObject(parts: unknown[], start: number): unknown {
  const object: Record<string, unknown> = {};
  for (let i = start; i < parts.length; i += 2) {
    const name = parts[i] as string;
    const value = parts[i + 1];
    // Assigned, it would be the prototype.
    if (name === '__proto__')
      Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
    else object[name] = value;
  }
  parts.length = start;
  return object;
}
