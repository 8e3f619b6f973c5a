import { PayloadTooLargeError, type PayloadLimit } from '../errors';
import { JsonSyntaxError } from './body-parser';
import { JsonScanner } from './scanner';

/** A member up to its comma: a name without escapes, and an object without others and without braces in its strings. */
const PLAIN_MEMBER =
  /[ \t\n\r]*("[^"\\\0-\x1f]*")[ \t\n\r]*:[ \t\n\r]*(\{(?:[^{}"\\]*"[^{}"\\]*")*[^{}"\\]*\})[ \t\n\r]*,/y;

/** Bounds what `JSON.parse` makes of the members that are read at once: up to 45 bytes of memory per character. */
const MAX_BATCH_LENGTH = 64 * 1024;

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
}

/**
 * Parses the JSON of an object with one member, itself an object, that may be too large for memory. Accepts the texts that
 * `JSON.parse` accepts, which makes all values: here the text is cut, and its first error located.
 *
 * Each name is parsed as a value. As a name, V8 of Node 24 may take it for another one
 * (https://github.com/nodejs/node/issues/63785): a price would be stored for another product.
 */
export class StreamingJsonParser {
  readonly #scanner = new JsonScanner();
  /** What has arrived since the last part. */
  #text = '';
  /** Bytes of the text before it. */
  #byteOffset = 0;
  /** Where in it the next token is looked for. */
  #index = 0;
  /** Where in it the current part begins: of the envelope, or a member's name or value. */
  #partStart = 0;
  /** The text outside the streamed member. */
  #envelope = '';
  #envelopeBytes = 0;
  /** The last name in the outermost object. */
  #envelopeName: unknown;
  #isStreaming = false;
  #memberName: string | undefined;

  constructor(
    private readonly options: StreamingJsonOptions,
    private readonly handler: MemberHandler,
  ) {}

  /**
   * A token is read again with each chunk until it is complete, so chunks should not be much smaller than tokens may be.
   *
   * @throws JsonSyntaxError, PayloadTooLargeError
   */
  write(text: string): void {
    this.#text += text;
    this.#scan(false);
  }

  /**
   * @returns the value, with the streamed member empty
   * @throws JsonSyntaxError, PayloadTooLargeError
   */
  end(): unknown {
    this.#scan(true);
    return JSON.parse(this.#envelope) as unknown;
  }

  #scan(isLast: boolean): void {
    let mayBePlain = true;
    for (;;) {
      mayBePlain &&= this.#readPlainMembers();
      const end = this.#scanner.next(this.#text, this.#index, isLast);
      if (end === undefined) break;
      this.#index = end;
      if (this.#isStreaming) this.#readMemberToken();
      else this.#readEnvelopeToken();
    }
    const { errorIndex } = this.#scanner;
    const isAtEnd = errorIndex === this.#text.length;
    if (!this.#isStreaming) this.#takeEnvelopePart(this.#index);
    this.#dropParts(errorIndex);
    const { envelopeLimit, memberLimit } = this.options;
    if (this.#isStreaming) assertSize(this.#text, memberLimit);
    else assertSize(this.#text, envelopeLimit, this.#envelopeBytes);
    if (errorIndex !== undefined) throw new JsonSyntaxError(this.#byteOffset + Buffer.byteLength(this.#text), isAtEnd);
  }

  #readEnvelopeToken(): void {
    const { depth, expected, tokenStart } = this.#scanner;
    const token = this.#text.slice(tokenStart, this.#index);
    if (depth === 1 && expected === ':') this.#envelopeName = JSON.parse(token);
    if (depth !== 2 || token !== '{' || this.#envelopeName !== this.options.streamedMember) return;
    this.#takeEnvelopePart(this.#index);
    this.#isStreaming = true;
    this.handler.onObjectStart();
  }

  /**
   * Reads the next members, mostly all that have arrived, in one call of `JSON.parse`. In a list each is one name and one
   * value, whatever they hold, since quotation marks and braces come in pairs.
   *
   * @returns false if one of them is not JSON
   */
  #readPlainMembers(): boolean {
    const { depth, expected } = this.#scanner;
    if (!this.#isStreaming || depth !== 2 || expected !== 'name') return true;
    const tokens: string[] = [];
    let end = this.#index;
    while (end - this.#index < MAX_BATCH_LENGTH) {
      PLAIN_MEMBER.lastIndex = end;
      const [member = '', name = '', value = ''] = PLAIN_MEMBER.exec(this.#text) ?? [];
      if (member === '' || 3 * member.length > this.options.memberLimit.bytes) break;
      tokens.push(name, value);
      end += member.length;
    }
    let list: unknown[];
    try {
      list = JSON.parse(`[${tokens.join()}]`) as unknown[];
    } catch {
      return false;
    }
    for (let i = 0; i < list.length; i += 2) this.handler.onMember(list[i] as string, list[i + 1]);
    this.#index = end;
    this.#partStart = end;
    return true;
  }

  #readMemberToken(): void {
    const { depth, tokenStart } = this.#scanner;
    if (depth > 2) return;
    if (depth === 1) {
      this.#endMember(tokenStart);
      this.#partStart = tokenStart;
      this.#isStreaming = false;
      return;
    }
    const token = this.#text[tokenStart];
    if (token === ':') this.#memberName = JSON.parse(this.#takeMemberPart(tokenStart)) as string;
    if (token === ',') this.#endMember(tokenStart);
  }

  #endMember(end: number): void {
    const value = this.#takeMemberPart(end);
    // Undefined in an object without members.
    if (this.#memberName !== undefined) this.handler.onMember(this.#memberName, JSON.parse(value) as unknown);
    this.#memberName = undefined;
  }

  /** Returns the part up to a separator, which belongs to no part. */
  #takeMemberPart(separator: number): string {
    const part = this.#text.slice(this.#partStart, separator);
    assertSize(part, this.options.memberLimit);
    this.#partStart = separator + 1;
    return part;
  }

  #takeEnvelopePart(end: number): void {
    const part = this.#text.slice(this.#partStart, end);
    assertSize(part, this.options.envelopeLimit, this.#envelopeBytes);
    this.#envelope += part;
    this.#envelopeBytes += Buffer.byteLength(part);
    this.#partStart = end;
  }

  /** @param end of what is kept */
  #dropParts(end: number | undefined): void {
    this.#byteOffset += Buffer.byteLength(this.#text.slice(0, this.#partStart));
    this.#text = this.#text.slice(this.#partStart, end);
    this.#index -= this.#partStart;
    this.#partStart = 0;
  }
}

/** @param bytesBefore of the same part */
function assertSize(text: string, limit: PayloadLimit, bytesBefore = 0): void {
  // A UTF-16 code unit has at most three bytes of UTF-8, so that hardly any text is counted.
  if (bytesBefore + 3 * text.length <= limit.bytes) return;
  if (bytesBefore + Buffer.byteLength(text) > limit.bytes) throw new PayloadTooLargeError(limit);
}
