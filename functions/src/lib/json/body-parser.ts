import { parseJson } from './parse';
import { findSyntaxProblem, MAX_DEPTH } from './scanner';

/** Parses a request body whose text arrives in chunks. A chunk can end anywhere, even within a token. */
export interface BodyParser<Body> {
  /** @throws JsonSyntaxError, PayloadTooLargeError */
  write(text: string): void;
  /** @throws JsonSyntaxError, ValidationError, PayloadTooLargeError */
  end(): Body;
}

/** The text is not JSON, or has too many levels. */
export class JsonSyntaxError extends Error {
  /**
   * @param byteOffset 0-based offset of the error, or the length of a text that ends too early
   * @param received description of what the text has there
   */
  constructor(
    readonly byteOffset: number,
    readonly received: string,
  ) {
    super(`not JSON at byte ${byteOffset}`);
  }
}

/** Returns a parser that collects the text of a small body, and parses it at the end. */
export function createJsonParser<Body>(validate: (value: unknown) => Body): BodyParser<Body> {
  const texts: string[] = [];
  return {
    write: (text) => void texts.push(text),
    end: () => validate(parseBody(texts.splice(0).join(''))),
  };
}

function parseBody(text: string): unknown {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw toSyntaxError(text);
  }
  if (isDeeper(value, MAX_DEPTH)) throw toSyntaxError(text);
  return value;
}

function toSyntaxError(text: string): JsonSyntaxError {
  const { index = text.length, received = '' } = findSyntaxProblem(text) ?? {};
  return new JsonSyntaxError(Buffer.byteLength(text.slice(0, index)), received);
}

/** Returns whether a value has more than `levels` levels of objects and arrays. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || (Array.isArray(value) ? value : Object.values(value)).some((each) => isDeeper(each, levels - 1)));
