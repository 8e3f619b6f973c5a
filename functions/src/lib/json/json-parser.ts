import { parseText, type BodyParser } from './body-parser';

/** Collects a small body and parses it at its end. A text that is not JSON is rejected later than any other body. */
export function createJsonParser<Body>(validate: (value: unknown) => Body): BodyParser<Body | Promise<Body>> {
  const texts: string[] = [];
  return {
    write: (text) => void texts.push(text),
    end: () => {
      const text = texts.splice(0).join('');
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        return locateSyntaxError(text);
      }
      return validate(value);
    },
  };
}

/**
 * `JSON.parse` tells the position of some errors only. What tells it of all is loaded when it is needed, so that it takes no
 * part in a cold start.
 */
async function locateSyntaxError(text: string): Promise<never> {
  const { StreamingJsonParser } = await import('./streaming-parser');
  parseText(new StreamingJsonParser(), text);
  throw new Error('the parsers do not agree on what JSON is');
}
