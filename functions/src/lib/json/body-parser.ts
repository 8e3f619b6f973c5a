import { parseJson } from './parse';
import { findSyntaxProblem, MAX_DEPTH } from './scanner';

/** Parses a request body whose text arrives in chunks. A chunk may end anywhere, also within a token. */
export interface BodyParser<Body> {
  /** @throws JsonSyntaxError, PayloadTooLargeError */
  write(text: string): void;
  /** @throws JsonSyntaxError, ValidationError, PayloadTooLargeError */
  end(): Body;
}

/** A text that is not JSON, or is nested too deep. */
export class JsonSyntaxError extends Error {
  /**
   * @param byteOffset 0-based offset of the first byte that cannot continue a JSON text
   * @param received what is there instead
   */
  constructor(
    readonly byteOffset: number,
    readonly received: string,
  ) {
    super(`not JSON at byte ${byteOffset}`);
  }
}

/** Returns a parser for a small body: it collects the text, and parses it at the end. */
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

/** Whether a value has more than this number of levels of objects and arrays. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || (Array.isArray(value) ? value : Object.values(value)).some((each) => isDeeper(each, levels - 1)));
