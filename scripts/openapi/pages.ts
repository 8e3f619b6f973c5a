import { bugs } from '../../functions/package.json';
import { ERROR_DEFINITIONS, type ErrorCode } from '../../functions/src/lib/errors';
import { errorDescriptions, getErrorCodes, PREFLIGHT_ERRORS } from './errors';
import { getLimits } from './limits';
import { toFieldRows, toTable, toTypeName } from './markdown';
import { getOperations, type Operation } from './operations';
import type { JsonObject } from './schemas';

/**
 * Sections of pages that follow from the API description. A page has them between `<!-- generated: NAME -->` and
 * `<!-- end: NAME -->`.
 */

/** Each page with the sections that it cannot lack. */
const SECTIONS = {
  'README.md': ['operations-table', 'contact'],
  'docs/api.md': ['operations-table', 'operations', 'records', 'errors', 'limits'],
  'docs/integration-guide.md': ['contact'],
} as const;

type Page = keyof typeof SECTIONS;
type Section = (typeof SECTIONS)[Page][number];

export const PAGES = Object.keys(SECTIONS) as Page[];

/** @returns the page with its generated sections up to date. @throws Error if it lacks a section */
export function renderPage(page: Page, text: string, document: JsonObject): string {
  const sections: readonly Section[] = SECTIONS[page];
  return sections.reduce((rendered, name) => {
    const [begin, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`];
    const [from, to] = [rendered.indexOf(begin), rendered.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`${page} has no section between ${begin} and ${end}`);
    return `${rendered.slice(0, from)}${begin}\n\n${renderSection(name, page, document)}\n\n${rendered.slice(to)}`;
  }, text);
}

function renderSection(name: Section, page: string, document: JsonObject): string {
  switch (name) {
    case 'operations-table':
      return renderOperationsTable(page === 'docs/api.md' ? '' : 'docs/api.md');
    case 'operations':
      return getOperations()
        .map((operation) => renderOperation(operation, document))
        .join('\n\n');
    case 'records':
      return renderRecords(document);
    case 'errors':
      return renderErrors();
    case 'limits':
      return toTable(['Limit', 'Value'], getLimits());
    case 'contact':
      return `Support: <${bugs.email}>`;
  }
}

function renderOperationsTable(api: string): string {
  const rows = getOperations().map(({ name, info, summary, response }) => [
    `[${summary}](${api}#${toAnchor(summary)})`,
    `${info.method} \`/${name}\``,
    response.description,
  ]);
  return toTable(['Operation', 'Method and path', '200'], rows);
}

const toAnchor = (heading: string): string => heading.toLowerCase().replaceAll(' ', '-');

function renderOperation(operation: Operation, document: JsonObject): string {
  const { name, info, summary, description, response } = operation;
  const request = getSchema(document, ['paths', `/${name}`, info.method.toLowerCase(), 'requestBody']);
  const responses = ['paths', `/${name}`, info.method.toLowerCase(), 'responses', '200'];
  return [
    `### ${summary}`,
    `${info.method} \`/${name}\``,
    description,
    request === undefined ? 'No body; one that is sent is ignored.' : `Body: ${toTypeName(request)}`,
    `200: ${toTypeName(getSchema(document, responses) ?? {})}. ${response.description}`,
    `Errors: ${renderErrorLinks([...getErrorCodes(operation), ...(info.cors ? PREFLIGHT_ERRORS : [])])}`,
  ].join('\n\n');
}

/** @returns the codes by status, without repetition */
function renderErrorLinks(codes: readonly ErrorCode[]): string {
  const inOrder = (Object.keys(ERROR_DEFINITIONS) as ErrorCode[]).filter((code) => codes.includes(code));
  return inOrder.map((code) => `${ERROR_DEFINITIONS[code].status} \`${code}\``).join(', ');
}

/** Every named schema with its fields; a union as the schemas that it may be. */
function renderRecords(document: JsonObject): string {
  const schemas = getObject(document, ['components', 'schemas']) as Record<string, JsonObject>;
  return Object.entries(schemas)
    .map(([name, schema]) => {
      const { description } = schema;
      const rows = toFieldRows(schema);
      const body = rows.length === 0 ? toTypeName(schema) : toTable(['Field', 'Type', 'Meaning'], rows);
      return [`### ${name}`, ...(typeof description === 'string' ? [description] : []), body].join('\n\n');
    })
    .join('\n\n');
}

function renderErrors(): string {
  const rows = (Object.keys(ERROR_DEFINITIONS) as ErrorCode[]).map((code) => {
    const { status, message } = ERROR_DEFINITIONS[code];
    return [String(status), message, `\`${code}\``, errorDescriptions[code]];
  });
  return toTable(['Status', 'Text', 'Code in the log', 'Meaning'], rows);
}

/** @returns the JSON schema of the request body or response at a path of the document */
function getSchema(document: JsonObject, path: readonly string[]): JsonObject | undefined {
  return getObject(document, [...path, 'content', 'application/json', 'schema']);
}

function getObject(document: JsonObject, path: readonly string[]): JsonObject | undefined {
  return path.reduce<JsonObject | undefined>((node, key) => node?.[key] as JsonObject | undefined, document);
}
