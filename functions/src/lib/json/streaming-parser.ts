import { PayloadTooLargeError, type PayloadLimit } from '../errors';
import { JsonSyntaxError } from './body-parser';
import { parseJson } from './parse';
import { JsonScanner } from './scanner';

/** A name without escapes, an object without escapes, arrays, further objects or braces in strings, and a comma. */
const PLAIN_MEMBER =
  /[ \t\n\r]*("[^"\\\0-\x1f]*")[ \t\n\r]*:[ \t\n\r]*(\{(?:[^{}[\]"\\]*"[^{}"\\]*")*[^{}[\]"\\]*\})[ \t\n\r]*,/y;

/** A batch of members for `JSON.parse` ends after this many characters, because values take more memory than text. */
const MAX_BATCH_LENGTH = 64 * 1024;

/** Receives each member of the streamed object, in the order of the text. */
type OnMember = (name: string, value: unknown) => void;

interface StreamingJsonOptions {
  /** Name of the member of the outermost object that holds the object to stream. */
  streamedMember: string;
  /** Limit of the text outside the streamed object. */
  envelopeLimit: PayloadLimit;
  /** Limit of each name and each value in the streamed object. */
  memberLimit: PayloadLimit;
  /** Called at the start of each streamed object. If there are several, only the last counts, as with `JSON.parse`. */
  createHandler: () => OnMember;
}

/**
 * Parses a JSON text in which one member of the outermost object is an object that may be too large for memory.
 * Accepts what `JSON.parse` accepts, up to 64 levels and the limits of the options, and locates the first error.
 * Like {@link parseJson}, it never gives `JSON.parse` a member name with escapes.
 */
export class StreamingJsonParser {
  readonly #scanner = new JsonScanner();
  /** The incomplete part of earlier chunks, and the last chunk. */
  #text = '';
  /** Number of bytes before {@link #text}. */
  #byteOffset = 0;
  #index = 0;
  /** Index in {@link #text} of the current part: a piece of the envelope, or a member's name or value. */
  #partStart = 0;
  #envelope = '';
  #envelopeBytes = 0;
  /** The last name in the outermost object, or the name in the streamed object whose value is not complete. */
  #name: string | undefined;
  /** Undefined outside the streamed object. */
  #onMember: OnMember | undefined;

  constructor(private readonly options: StreamingJsonOptions) {}

  /**
   * An incomplete token is read again from its start with each chunk, so chunks should not be much
   * smaller than the largest token.
   *
   * @throws JsonSyntaxError, PayloadTooLargeError
   */
  write(text: string): void {
    this.#text += text;
    this.#scan(false);
  }

  /**
   * @returns the value, with an empty object instead of the streamed one
   * @throws JsonSyntaxError, PayloadTooLargeError
   */
  end(): unknown {
    this.#scan(true);
    return parseJson(this.#envelope);
  }

  #scan(isLast: boolean): void {
    let mayBePlain = true;
    for (;;) {
      mayBePlain &&= this.#readPlainMembers();
      const end = this.#scanner.next(this.#text, this.#index, isLast);
      if (end === undefined) break;
      this.#index = end;
      if (this.#onMember === undefined) this.#readEnvelopeToken();
      else this.#readMemberToken(this.#onMember);
    }
    const { problem } = this.#scanner;
    if (this.#onMember === undefined) this.#takeEnvelopePart();
    this.#byteOffset += Buffer.byteLength(this.#text.slice(0, this.#partStart));
    // The text after an error is discarded.
    this.#text = this.#text.slice(this.#partStart, problem?.index);
    this.#index -= this.#partStart;
    this.#partStart = 0;
    this.#assertSize(this.#text);
    if (problem !== undefined) {
      throw new JsonSyntaxError(this.#byteOffset + Buffer.byteLength(this.#text), problem.received);
    }
  }

  #readEnvelopeToken(): void {
    const { depth, expected, tokenStart } = this.#scanner;
    const token = this.#text.slice(tokenStart, this.#index);
    if (depth === 1 && expected === ':') this.#name = JSON.parse(token) as string;
    if (depth !== 2 || token !== '{' || this.#name !== this.options.streamedMember) return;
    this.#takeEnvelopePart();
    this.#name = undefined;
    this.#onMember = this.options.createHandler();
  }

  /**
   * Reads a batch of the next plain members in one call of `JSON.parse`. The pattern pairs quotation marks
   * and braces, so each match is one name and one value, even if they are not JSON.
   *
   * @returns false if one of them is not JSON; none is then read
   */
  #readPlainMembers(): boolean {
    const { depth, expected } = this.#scanner;
    if (this.#onMember === undefined || depth !== 2 || expected !== 'name') return true;
    const pairs: string[] = [];
    let end = this.#index;
    while (end - this.#index < MAX_BATCH_LENGTH) {
      PLAIN_MEMBER.lastIndex = end;
      const [member = '', name = '', value = ''] = PLAIN_MEMBER.exec(this.#text) ?? [];
      if (member === '' || 3 * member.length > this.options.memberLimit.bytes) break;
      pairs.push(`[${name},${value}]`);
      end += member.length;
    }
    let members: [name: string, value: unknown][];
    try {
      members = JSON.parse(`[${pairs.join()}]`) as typeof members;
    } catch {
      return false;
    }
    for (const [name, value] of members) this.#onMember(name, value);
    this.#index = end;
    this.#partStart = end;
    return true;
  }

  #readMemberToken(onMember: OnMember): void {
    const { depth, tokenStart } = this.#scanner;
    const token = this.#text.charAt(tokenStart);
    const isEnd = depth === 1;
    if (!isEnd && (depth > 2 || (token !== ':' && token !== ','))) return;
    // A separator belongs to no part. The closing brace belongs to the envelope.
    const part = this.#takePart(tokenStart, isEnd ? tokenStart : this.#index);
    if (token === ':') {
      this.#name = JSON.parse(part) as string;
      return;
    }
    // An empty object ends without a name.
    if (this.#name !== undefined) onMember(this.#name, parseJson(part));
    this.#name = undefined;
    if (isEnd) this.#onMember = undefined;
  }

  /** @param next index of the next part */
  #takePart(end: number, next: number): string {
    const part = this.#text.slice(this.#partStart, end);
    this.#assertSize(part);
    this.#partStart = next;
    return part;
  }

  #takeEnvelopePart(): void {
    const part = this.#takePart(this.#index, this.#index);
    this.#envelope += part;
    this.#envelopeBytes += Buffer.byteLength(part);
  }

  /** @param part the complete part, or the beginning of it that has arrived */
  #assertSize(part: string): void {
    const { envelopeLimit, memberLimit } = this.options;
    const [limit, bytesBefore] = this.#onMember === undefined ? [envelopeLimit, this.#envelopeBytes] : [memberLimit, 0];
    // A UTF-16 code unit has at most three bytes of UTF-8, so few texts need an exact count.
    if (bytesBefore + 3 * part.length <= limit.bytes) return;
    if (bytesBefore + Buffer.byteLength(part) > limit.bytes) throw new PayloadTooLargeError(limit);
  }
}
