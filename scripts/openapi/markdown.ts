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

/** @returns the fields of an object schema; those of an object within by their dotted paths */
export function toFieldRows(schema: JsonObject, prefix = ''): [field: string, type: string, description: string][] {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  return Object.entries(properties).flatMap(([name, property]): [string, string, string][] => {
    const isPlainObject = property['type'] === 'object' && 'properties' in property;
    if (isPlainObject) return toFieldRows(property, `${prefix}${name}.`);
    return [[`\`${prefix}${name}\``, toTypeName(property), toText(property['description'])]];
  });
}

/** @returns the type of a field in words, with links to the schemas that it names */
export function toTypeName(schema: JsonObject): string {
  const { $ref, anyOf, allOf, type, const: constant, enum: values, items, additionalProperties, format } = schema;
  if (typeof $ref === 'string') return toLink($ref);
  if (Array.isArray(allOf) && allOf.length === 1) return toTypeName(allOf[0] as JsonObject);
  if (Array.isArray(anyOf)) return anyOf.map((each) => toTypeName(each as JsonObject)).join(' or ');
  if (constant !== undefined) return toLiteral(constant);
  if (Array.isArray(values)) return values.map(toLiteral).join(', ');
  if (type === 'array') return `array of ${toTypeName(items as JsonObject)}`;
  if (typeof additionalProperties === 'object') return `map of ${toTypeName(additionalProperties as JsonObject)}`;
  const types = Array.isArray(type) ? type.map(toText).join(' or ') : toText(type);
  return typeof format === 'string' ? `${types} (${format})` : types;
}

/** @returns the heading's anchor of a named schema */
function toLink(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return `[${name}](#${name.toLowerCase()})`;
}

const toLiteral = (value: Json): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

const toText = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
