import { parseJson } from '../../dev/run/http';
import type { ReceivedResponse } from '../../dev/run/received-response';
import type { OperationName } from '../../dev/run/operations';

/** After this number of texts, no more are collected from a body. Further texts are unlikely to find another leak. */
const MAX_TEXTS_PER_BODY = 50;

/**
 * Finds confidential data in the output of a suite, at its end. It looks for API keys, and for distinctive
 * texts and prices of request bodies and of successful responses to reads.
 */
export function createLogLeakDetector() {
  const confidential = new Set<string>();
  const written: string[] = [];
  const keep = (value: unknown) => {
    for (const text of collectTexts(value)) if (isDistinctive(text)) confidential.add(text);
  };
  return {
    /** Notes a text that was logged or written to the console. */
    logged: (text: string) => void written.push(text),
    sent: (headers: Record<string, unknown>, body: unknown) => {
      keep(headers['x-api-key']);
      keep(typeof body === 'string' ? (parseJson(body) ?? body) : undefined);
    },
    received: (operation: OperationName, { status, json }: ReceivedResponse) => {
      // A response of add price lists has ids of records, which are allowed in the log.
      if (status === 200 && operation !== 'addPriceLists') keep(json);
    },
    /** @throws Error if anything confidential was logged */
    check: () => {
      const all = written.join('\n');
      const leaked = [...confidential].filter(
        (text) => all.includes(text) || all.includes(JSON.stringify(text).slice(1, -1)),
      );
      if (leaked.length > 0)
        throw new Error(`these texts of requests or records were logged: ${JSON.stringify(leaked)}`);
    },
  };
}

/** Returns texts in a value, ids of its products, and its fractional numbers as JSON writes them. */
function collectTexts(value: unknown): string[] {
  const texts: string[] = [];
  JSON.stringify(value, (name, each: unknown) => {
    if (texts.length >= MAX_TEXTS_PER_BODY) return undefined;
    if (typeof each === 'string') texts.push(each);
    else if (typeof each === 'number' && !Number.isInteger(each)) texts.push(JSON.stringify(each));
    else if (name === 'products' && typeof each === 'object') texts.push(...Object.keys(each ?? {}).slice(0, 20));
    return each;
  });
  return texts;
}

/** Returns whether a text is unlikely to be in a log line by chance. Short texts and plain words can occur there. */
const isDistinctive = (text: string): boolean => text.trim().length >= 6 && !/^[a-z_]{1,12}$/i.test(text);
