import { readFileSync } from 'node:fs';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import type { ReceivedResponse, RequestInfo } from '../../dev/run/received-response';

/** Headers of HTTP itself, which docs/openapi.json need not describe. */
const OF_THE_TRANSPORT = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

interface Described {
  headers: Record<string, { $ref: string }>;
  content?: Record<string, unknown>;
}

interface Reference {
  /** `#/components/responses/` and a name. */
  $ref: string;
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Described | Reference> }>>;
  components: {
    responses: Record<string, Described>;
    headers: Record<string, { required?: boolean; schema: { type?: string } }>;
  };
}

const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as Document;

// Strict mode is off, because Redocly's lint, which knows OpenAPI's keywords, checks the document's own schemas.
// Clients must accept more fields than the document describes, but this check accepts only the described fields.
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  formats: { date: true, int64: true },
  logger: createLogger(),
});
ajv.addSchema(JSON.parse(JSON.stringify(document), close) as object, 'openapi');

/** Returns a logger that throws what ajv would only print, for example that ajv ignores an unknown format. */
function createLogger() {
  const fail = (message: unknown): never => {
    throw new Error(`docs/openapi.json: ${String(message)}`);
  };
  return { log: fail, warn: fail, error: fail };
}

/** Makes each schema of an object forbid the fields that it does not describe, unless it has its own `additionalProperties`. */
function close(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('properties' in value)) return value;
  return { additionalProperties: false, ...value };
}

/**
 * @throws Error if docs/openapi.json does not describe the status, or if the headers or the body differ from the
 *   description. The message lists every difference.
 */
export function assertConforms({ operation, method }: RequestInfo, response: ReceivedResponse): void {
  const { where, described } = responseOf(operation, method, response.status);
  const failures = [...headerFailures(described, response), ...bodyFailures(where, described, method, response)];
  if (failures.length > 0) {
    const title = `${method} ${operation} ${response.status} does not conform to docs/openapi.json`;
    throw new Error([title, ...failures, response.text.slice(0, 500)].join('\n'));
  }
}

/** Returns the description of a status. A method that is not described has the 405 of the first described method. */
function responseOf(operation: string, method: string, status: number): { where: string; described: Described } {
  const methods = document.paths[`/${operation}`] ?? {};
  const name = method.toLowerCase();
  const key = name in methods ? name : status === 405 ? Object.keys(methods)[0] : undefined;
  const response = key === undefined ? undefined : methods[key]?.responses[status];
  if (key === undefined || response === undefined) {
    throw new Error(`docs/openapi.json describes no ${status} for ${method} ${operation}`);
  }
  if (!('$ref' in response)) {
    return { where: `openapi#/paths/~1${operation}/${key}/responses/${status}`, described: response };
  }
  const described = document.components.responses[response.$ref.replace('#/components/responses/', '')];
  if (described === undefined) throw new Error(`docs/openapi.json has nothing at ${response.$ref}`);
  return { where: `openapi${response.$ref}`, described };
}

function* headerFailures({ headers }: Described, response: ReceivedResponse): Generator<string> {
  for (const name of Object.keys(headers)) {
    const header = document.components.headers[name];
    if (header === undefined) throw new Error(`docs/openapi.json has no header ${name}`);
    const { required = false, schema } = header;
    const text = response.headers[name.toLowerCase()];
    if (text === undefined) {
      if (required) yield `the header ${name} is missing`;
      continue;
    }
    const value = schema.type === 'integer' ? Number(text) : text;
    const validate = validator(`openapi#/components/headers/${name}/schema`);
    if (!validate(value)) yield `the header ${name}: ${explain(validate)}, received ${String(text)}`;
  }
  const known = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  for (const name of Object.keys(response.headers)) {
    if (!known.has(name) && !OF_THE_TRANSPORT.has(name)) yield `the header ${name} is not described`;
  }
}

function* bodyFailures(
  where: string,
  { content }: Described,
  method: string,
  response: ReceivedResponse,
): Generator<string> {
  if (content === undefined || method === 'HEAD') {
    if (response.bytes.length > 0) yield 'the response has a body, but must have none';
    return;
  }
  if (response.headers['content-type'] !== 'application/json; charset=utf-8') yield 'the content type differs';
  const validate = validator(`${where}/content/application~1json/schema`);
  if (!validate(response.json)) yield `the body: ${explain(validate)}`;
}

function validator(reference: string): ValidateFunction {
  const validate = ajv.getSchema(reference);
  if (validate === undefined) throw new Error(`docs/openapi.json has nothing at ${reference}`);
  return validate;
}

const explain = ({ errors }: ValidateFunction): string => ajv.errorsText(errors ?? null);
