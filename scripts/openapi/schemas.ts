/**
 * Converts zod's JSON Schema to the form that OpenAPI and code generators need. Named schemas become
 * components, a nullable type becomes one schema, an enum of integers becomes a range, and the bounds of JavaScript's
 * integers are removed.
 */

/** The part of a zod schema that the generator uses. */
export interface ZodSchema {
  toJSONSchema(options: { io: 'input' | 'output' }): object;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

/** The schemas and responses that the document has referred to so far. */
export class Components {
  readonly schemas: JsonObject = {};
  readonly responses: JsonObject = {};

  /** @returns the schema of a request */
  input = (schema: ZodSchema): JsonObject => this.#register(schema, 'input');

  /** @returns the schema of a response */
  output = (schema: ZodSchema): JsonObject => this.#register(schema, 'output');

  #register(schema: ZodSchema, io: 'input' | 'output'): JsonObject {
    const { $defs = {}, $schema, ...rest } = schema.toJSONSchema({ io }) as JsonObject;
    for (const [name, definition] of Object.entries($defs as JsonObject)) this.schemas[name] = simplify(definition);
    return simplify(rest) as JsonObject;
  }
}

function simplify(node: Json): Json {
  if (Array.isArray(node)) return node.map(simplify);
  if (node === null || typeof node !== 'object') return node;
  const entries = Object.entries(node).filter(([key, value]) => !isRedundant(key, value, node));
  const simplified = Object.fromEntries(entries.map(([key, value]) => [key, simplify(value)]));
  const reference = simplified['$ref'];
  if (typeof reference === 'string') simplified['$ref'] = reference.replace('#/$defs/', '#/components/schemas/');
  return mergeNull(toRange(simplified));
}

/**
 * Turns an enum of integers into a range, because clients in Rust and Kotlin would send its members as texts. Does not
 * check that the integers are adjacent.
 */
function toRange(schema: JsonObject): JsonObject {
  const { enum: values, ...rest } = schema;
  if (values === undefined || rest['type'] !== 'integer') return schema;
  return { ...rest, minimum: Math.min(...(values as number[])), maximum: Math.max(...(values as number[])) };
}

const isRedundant = (key: string, value: Json, { format }: JsonObject): boolean =>
  (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
  (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) ||
  (key === 'propertyNames' && JSON.stringify(value) === '{"type":"string"}') ||
  // The pattern repeats the format and spells out leap years.
  (key === 'pattern' && format === 'date');

/** Merges `anyOf` a type and null into one schema of two types. An enum stays apart, because its values exclude null. */
function mergeNull({ anyOf, ...rest }: JsonObject): JsonObject {
  if (anyOf === undefined) return rest;
  const [first, second] = anyOf as JsonObject[];
  const canMerge = typeof first?.['type'] === 'string' && !('enum' in first) && second?.['type'] === 'null';
  return canMerge ? { ...first, ...rest, type: [first['type'] as string, 'null'] } : { anyOf, ...rest };
}
