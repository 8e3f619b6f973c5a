import type { Json, JsonObject } from './schemas';

/** Markdown from the API description, in the layout that Prettier gives it. */

/** @returns a table with padded cells */
export function toTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')));
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column]?.length ?? 0)));
  const toLine = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = [], ...others] = all;
  return [toLine(first), toLine(widths.map((width) => '-'.repeat(width))), ...others.map(toLine)].join('\n');
}

/**
 * @param schemas by their names, which references are looked up in
 * @returns the fields of a schema by their paths, those within objects, maps and arrays too. What only holds others and says
 *   nothing of itself has no row.
 */
export function toFieldRows(
  schema: JsonObject,
  schemas: Record<string, JsonObject>,
  path = '',
): [field: string, type: string, description: string][] {
  const { properties, additionalProperties, items } = resolve(schema, schemas);
  if (typeof additionalProperties === 'object')
    return toFieldRows(additionalProperties as JsonObject, schemas, `${path}<id>.`);
  if (typeof items === 'object') return toFieldRows(items as JsonObject, schemas, `${path.slice(0, -1)}[].`);
  return Object.entries((properties ?? {}) as Record<string, JsonObject>).flatMap(([name, property]) => {
    const description = toText(property['description']);
    const inner = toFieldRows(property, schemas, `${path}${name}.`);
    if (inner.length > 0 && description === '') return inner;
    return [[`\`${path}${name}\``, toTypeName(property), description], ...inner];
  });
}

/** @returns the schema itself: of a reference what it names, of a nullable one what it is otherwise */
function resolve(schema: JsonObject, schemas: Record<string, JsonObject>): JsonObject {
  const [inner] = ((schema['allOf'] ?? schema['anyOf']) as JsonObject[] | undefined) ?? [];
  if (inner !== undefined) return resolve(inner, schemas);
  const { $ref } = schema;
  return typeof $ref === 'string' ? (schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}) : schema;
}

/** @returns the type of a field in words */
export function toTypeName(schema: JsonObject): string {
  const { $ref, anyOf, allOf, type, const: constant, enum: values, items, additionalProperties, format } = schema;
  if (typeof $ref === 'string') return 'object';
  if (Array.isArray(allOf) && allOf.length === 1) return toTypeName(allOf[0] as JsonObject);
  if (Array.isArray(anyOf)) return anyOf.map((each) => toTypeName(each as JsonObject)).join(' or ');
  if (constant !== undefined) return toLiteral(constant);
  if (Array.isArray(values)) return values.map(toLiteral).join(', ');
  if (type === 'array') return `array of ${toTypeName(items as JsonObject)}s`;
  if (typeof additionalProperties === 'object') return `map of ${toTypeName(additionalProperties as JsonObject)}s`;
  const types = Array.isArray(type) ? type.map(toText).join(' or ') : toText(type);
  return typeof format === 'string' ? `${types} (${format})` : types;
}

const toLiteral = (value: Json): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

const toText = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
