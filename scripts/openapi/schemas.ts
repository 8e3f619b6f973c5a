/**
 * JSON Schema of the service's zod schemas, as zod itself writes it, in the form that OpenAPI wants: named schemas
 * among the components, and without what only says that JavaScript's integers have bounds.
 */

/** A schema of the service: scripts know zod by this only. */
export interface ZodSchema {
  toJSONSchema(options: { io: 'input' | 'output' }): object;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

/** The components that were referred to so far. */
export class Components {
  readonly schemas: JsonObject = {};

  /** What a caller sends. */
  input = (schema: ZodSchema): JsonObject => this.#take(schema, 'input');

  /** What the service answers. */
  output = (schema: ZodSchema): JsonObject => this.#take(schema, 'output');

  #take(schema: ZodSchema, io: 'input' | 'output'): JsonObject {
    const { $defs = {}, $schema, ...rest } = schema.toJSONSchema({ io }) as JsonObject;
    for (const [name, definition] of Object.entries($defs as JsonObject)) this.schemas[name] = tidy(definition);
    return tidy(rest) as JsonObject;
  }
}

function tidy(node: Json): Json {
  if (Array.isArray(node)) return node.map(tidy);
  if (node === null || typeof node !== 'object') return node;
  const entries = Object.entries(node).filter(([key, value]) => !isNoise(key, value, node));
  const tidied = Object.fromEntries(entries.map(([key, value]) => [key, tidy(value)]));
  if (typeof tidied['$ref'] === 'string') tidied['$ref'] = tidied['$ref'].replace('#/$defs/', '#/components/schemas/');
  return nullable(tidied);
}

const isNoise = (key: string, value: Json, { format }: JsonObject): boolean =>
  (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
  (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) ||
  (key === 'propertyNames' && JSON.stringify(value) === '{"type":"string"}') ||
  // The format says it; the pattern spells out which years are leap years.
  (key === 'pattern' && format === 'date');

/** `anyOf` a plain type or null, said as one schema of two types. */
function nullable({ anyOf, ...rest }: JsonObject): JsonObject {
  if (anyOf === undefined) return rest;
  const [first, second] = anyOf as JsonObject[];
  const plain = typeof first?.['type'] === 'string' && second?.['type'] === 'null';
  return plain ? { ...first, ...rest, type: [first['type'] as string, 'null'] } : { anyOf, ...rest };
}
