import { isDeepStrictEqual } from 'node:util';
import { parseText } from '../../functions/src/lib/json/body-parser';
import { getOperations, type Example, type Operation } from './operations';

/** @returns a sentence for each example of scripts/openapi/operations.ts that contradicts its schema */
export function findWrongExamples(operations: readonly Operation[] = getOperations()): string[] {
  return operations.flatMap((operation) => [
    ...check(operation, 'request', operation.request?.examples ?? {}, (value) => {
      if (operation.info.body !== undefined) parseText(operation.info.body.createParser(), JSON.stringify(value));
    }),
    ...check(operation, 'response', operation.response.examples, (value) => {
      const parsed = operation.response.schema.parse(value);
      if (!isDeepStrictEqual(parsed, value)) throw new Error('it has fields that the schema does not name');
    }),
  ]);
}

function check(
  { name }: Operation,
  part: 'request' | 'response',
  examples: Record<string, Example>,
  assertValid: (value: object) => void,
): string[] {
  return Object.entries(examples).flatMap(([example, { value }]) => {
    try {
      assertValid(value);
      return [];
    } catch (error) {
      return [`The ${part} example "${example}" of ${name} contradicts its schema: ${describe(error)}`];
    }
  });
}

interface Issue {
  path: string | PropertyKey[];
  message: string;
}

/** The field errors of a request, the issues of a response's schema, or the message of another error. */
function describe(error: unknown): string {
  const { errors, issues, message } = error as { errors?: Issue[]; issues?: Issue[]; message: string };
  const fields = (errors ?? issues)?.map((each) => `${[each.path].flat().join('.')}: ${each.message}`);
  return fields?.join('; ') ?? message;
}
