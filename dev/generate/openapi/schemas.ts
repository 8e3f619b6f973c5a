import type * as z from 'zod';

/**
 * Converts zod's JSON Schema to the form that OpenAPI and code generators need. Named schemas become components. `simplify`
 * makes the other changes.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

/** The schemas and responses that the document has referred to so far. */
export class Components {
  readonly schemas: JsonObject = {};
  readonly responses: JsonObject = {};

  /** @returns the schema of a request */
  input = (schema: z.ZodType): JsonObject => this.#register(schema, 'input');

  /** @returns the schema of a response */
  output = (schema: z.ZodType): JsonObject => this.#register(schema, 'output');

  #register(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const converted = schema.toJSONSchema({ io, override: ({ jsonSchema }) => simplify(jsonSchema as JsonObject) });
    const text = JSON.stringify(converted).replaceAll('#/$defs/', '#/components/schemas/');
    const { $defs, $schema, ...rest } = JSON.parse(text) as JsonObject;
    Object.assign(this.schemas, $defs);
    return rest;
  }
}

function simplify(schema: JsonObject): void {
  const { type, enum: values, anyOf } = schema;
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (JSON.stringify(schema['propertyNames']) === '{"type":"string"}') delete schema['propertyNames'];
  // If an object is closed, generated clients fail on a field that a later version adds.
  if (schema['additionalProperties'] === false) delete schema['additionalProperties'];
  // The pattern repeats the format and spells out leap years.
  if (schema['format'] === 'date') delete schema['pattern'];
  // Replaces an enum of integers with a range, because clients in Rust and Kotlin send the members of such an enum as strings.
  // The integers must be adjacent.
  if (type === 'integer' && values !== undefined) {
    delete schema['enum'];
    schema['minimum'] = Math.min(...(values as number[]));
    schema['maximum'] = Math.max(...(values as number[]));
  }
  // Merges a type and null into one schema with both types. An enum is not merged, because its values exclude null.
  const [first, second] = (anyOf ?? []) as JsonObject[];
  if (typeof first?.['type'] !== 'string' || 'enum' in first || second?.['type'] !== 'null') return;
  delete schema['anyOf'];
  Object.assign(schema, { ...first, ...schema, type: [first['type'], 'null'] });
}
