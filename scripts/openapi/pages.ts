import { bugs } from '../../functions/package.json';
import { ERROR_DEFINITIONS, type ErrorCode } from '../../functions/src/lib/errors';
import { NULL_IF_MALFORMED } from '../../functions/src/lib/schemas/responses';
import { errorDescriptions, getErrorCodes, PREFLIGHT_ERRORS } from './errors';
import { getLimits } from './limits';
import { toFieldRows, toTable } from './markdown';
import { getOperations, type Operation } from './operations';
import type { JsonObject } from './schemas';

/**
 * Sections of pages that follow from the API description. A page has them between `<!-- generated: NAME -->` and
 * `<!-- end: NAME -->`.
 */

/** Each page with the sections that it cannot lack. */
const SECTIONS = {
  'README.md': ['operations-table', 'contact'],
  'docs/api.md': ['operations', 'errors', 'limits'],
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
    return `${rendered.slice(0, from)}${begin}\n\n${renderSection(name, document)}\n\n${rendered.slice(to)}`;
  }, text);
}

function renderSection(name: Section, document: JsonObject): string {
  switch (name) {
    case 'operations-table':
      return renderOperationsTable();
    case 'operations':
      return getOperations()
        .map((operation) => renderOperation(operation, document))
        .join('\n\n');
    case 'errors':
      return renderErrors();
    case 'limits':
      return toTable(['Limit', 'Value'], getLimits());
    case 'contact':
      return `Support: <${bugs.email}>`;
  }
}

function renderOperationsTable(): string {
  const rows = getOperations().map(({ name, info, summary, response }) => [
    `[${summary}](docs/api.md#${toAnchor(summary)})`,
    `${info.method} \`/${name}\``,
    response.description,
  ]);
  return toTable(['Operation', 'Method and path', '200'], rows);
}

const toAnchor = (heading: string): string => heading.toLowerCase().replaceAll(' ', '-');

function renderOperation({ name, info, summary, description }: Operation, document: JsonObject): string {
  const path = ['paths', `/${name}`, info.method.toLowerCase()];
  const request = getSchema(document, [...path, 'requestBody']);
  const response = getSchema(document, [...path, 'responses', '200']);
  return [
    `### ${summary}`,
    `${info.method} \`/${name}\``,
    description,
    ...(request === undefined ? [] : [renderFields('Request', request, document)]),
    renderFields('Response', response ?? {}, document),
  ].join('\n\n');
}

/** The page says once what null means in a record. */
function renderFields(title: string, schema: JsonObject, document: JsonObject): string {
  const schemas = getObject(document, ['components', 'schemas']) as Record<string, JsonObject>;
  const rows = toFieldRows(schema, schemas).map(([field, type, meaning]) => [
    field,
    type,
    meaning.replace(NULL_IF_MALFORMED, '').trim(),
  ]);
  return toTable([title, 'Type', 'Meaning'], rows);
}

function renderErrors(): string {
  const rows = (Object.keys(ERROR_DEFINITIONS) as ErrorCode[]).map((code) => {
    const { status, message } = ERROR_DEFINITIONS[code];
    return [String(status), message, `\`${code}\``, renderSources(code), errorDescriptions[code]];
  });
  return toTable(['Status', 'Text', 'Code in the log', 'Of', 'Meaning'], rows);
}

/** Which operations return an error. */
function renderSources(code: ErrorCode): string {
  const all = getOperations();
  const sources = all.filter((operation) =>
    [...getErrorCodes(operation), ...(operation.info.cors ? PREFLIGHT_ERRORS : [])].includes(code),
  );
  if (sources.length === all.length) return 'all';
  if (sources.every(({ request }) => request !== undefined) && sources.length > 1) return 'POST';
  return sources.map(({ summary }) => summary.toLowerCase()).join(', ');
}

/** @returns the JSON schema of the request body or response at a path of the document */
function getSchema(document: JsonObject, path: readonly string[]): JsonObject | undefined {
  return getObject(document, [...path, 'content', 'application/json', 'schema']);
}

function getObject(document: JsonObject, path: readonly string[]): JsonObject | undefined {
  return path.reduce<JsonObject | undefined>((node, key) => node?.[key] as JsonObject | undefined, document);
}
