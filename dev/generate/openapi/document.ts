import { bugs, version } from '../../../functions/package.json';
import { ERROR_DEFINITIONS, toApiError, toErrorResponse, type ErrorCode } from '../../../functions/src/lib/errors';
import { scanBody } from '../../../functions/src/lib/http/request-body';
import { REGION } from '../../../functions/src/lib/region';
import { errorResponseSchema, getErrorResponseSchema } from './bodies';
import { errorDescriptions, errorHeaders, getErrorCodes, PREFLIGHT_ERRORS, sharedResponses } from './errors';
import {
  COMMON_BODY_HEADERS,
  COMMON_HEADERS,
  CORS_HEADERS,
  headers,
  parameters,
  PREFLIGHT_HEADERS,
  type HeaderName,
} from './headers';
import { getOperations, type Example, type Operation } from './operations';
import { Components, type Json, type JsonObject } from './schemas';

/** Builds the OpenAPI 3.1 document from the service's functions, schemas and errors. */

const INTRODUCTION = [
  'The service speaks JSON over HTTP. Each operation has its own address below one base address, without path or query parameters.',
  'The service checks a request in this order: preflight, method, API key, pause, headers of the body, memory, body. The preflight applies only to get warehouses, the body and its headers only to a POST, and the pause and the memory only to add price lists. The first failed check determines the response. The service checks the API key before it reads a byte of the body.',
  'Records that are keyed by their identifiers have no guaranteed order. Unknown fields of a request are ignored.',
].join('\n\n');

export function createOpenApiDocument(): JsonObject {
  const components = new Components();
  components.responses['Platform'] = platformResponse;
  const paths = Object.fromEntries(
    getOperations().map((operation) => [`/${operation.name}`, toPathItem(operation, components)]),
  );
  const schemas = Object.fromEntries(Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Organisation data and price lists',
      version,
      description: INTRODUCTION,
      contact: { name: 'Support', email: bugs.email },
    },
    externalDocs: { description: 'Limits, errors and behaviour', url: 'api.md' },
    servers: [
      { url: `http://127.0.0.1:5001/demo-price-lists/${REGION}`, description: 'npm start' },
      {
        url: `https://${REGION}-{project}.cloudfunctions.net`,
        description: 'A deployment',
        variables: { project: { default: 'your-project', description: 'The Firebase project' } },
      },
    ],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Price lists', description: 'Creation of price lists and expected forward cost lists, exactly once.' },
      { name: 'Organisation data', description: "The organisation's records. Read only." },
    ],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The API key that support gave you.' },
      },
      parameters,
      headers,
      responses: components.responses,
      schemas,
    },
  };
}

/** Describes the platform's responses as text only, so an undescribed JSON response of the service does not match them. */
const platformResponse: JsonObject = {
  description:
    'A response of the platform in front of the service, such as 429, 502, 503 or 504. After one of these, wait a few seconds, and send the request again.',
  content: { 'text/html': { schema: { type: 'string' } }, 'text/plain': { schema: { type: 'string' } } },
};

const PLATFORM_RESPONSE = { $ref: '#/components/responses/Platform' };

function toPathItem(operation: Operation, components: Components): JsonObject {
  const { method, cors } = operation.info;
  return {
    [method.toLowerCase()]: toOperationObject(operation, components),
    ...(cors ? { options: toPreflightObject(operation, components) } : {}),
  };
}

function toOperationObject(operation: Operation, components: Components): JsonObject {
  const { name, info, tag, summary, description, request, response } = operation;
  const corsHeaders = info.cors ? CORS_HEADERS : [];
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: description.join('\n\n'),
    parameters: [{ $ref: '#/components/parameters/X-Request-Id' }],
    ...(request === undefined ? {} : { requestBody: toRequestBody(operation, request, components) }),
    responses: {
      200: {
        description: response.description,
        headers: toReferences('headers', [...COMMON_BODY_HEADERS, ...corsHeaders, ...(response.headers ?? [])]),
        content: toContent(components.output(response.schema), response.examples),
      },
      ...toErrorResponses(operation, getErrorCodes(operation), corsHeaders, components),
      default: PLATFORM_RESPONSE,
    },
  };
}

function toRequestBody(
  operation: Operation,
  request: NonNullable<Operation['request']>,
  components: Components,
): JsonObject {
  const { name, info } = operation;
  if (info.body === undefined)
    throw new Error(`dev/generate/openapi/operations.ts describes a body of ${name}, which is a GET`);
  return {
    required: true,
    // Content-Encoding is not a parameter, because fuzzers and reference pages would send it without a gzip body.
    description: `UTF-8, at most ${info.body.maxBytes / 1024 ** 2} MiB, sent within ${info.body.timeoutMs / 1000} s. For a gzip body, send the header \`Content-Encoding: gzip\`. The size limit applies to the body as sent, and to the inflated body.`,
    content: toContent(components.input(request.schema), request.examples),
  };
}

function toPreflightObject(operation: Operation, components: Components): JsonObject {
  return {
    operationId: `${operation.name}Preflight`,
    tags: [operation.tag],
    summary: `Preflight of ${operation.summary.toLowerCase()}`,
    description: 'A browser sends this request before it first sends the API key. This request needs no API key.',
    security: [],
    parameters: [{ $ref: '#/components/parameters/X-Request-Id' }, { $ref: '#/components/parameters/Origin' }],
    responses: {
      204: {
        description: 'The origin is allowed. A request without `Origin` also gets 204, without CORS headers.',
        headers: toReferences('headers', [...COMMON_HEADERS, ...PREFLIGHT_HEADERS]),
      },
      ...toErrorResponses(operation, PREFLIGHT_ERRORS, [], components),
      default: PLATFORM_RESPONSE,
    },
  };
}

/** Returns the error responses of an operation by status. The errors of one status share a response. */
function toErrorResponses(
  operation: Operation,
  codes: readonly ErrorCode[],
  corsHeaders: HeaderName[],
  components: Components,
): JsonObject {
  const statuses = [...new Set(codes.map((code) => ERROR_DEFINITIONS[code].status))].sort();
  return Object.fromEntries(
    statuses.map((status): [number, JsonObject] => {
      const errors = codes.filter((code) => ERROR_DEFINITIONS[code].status === status);
      const examples = errors.map((code): [string, Example] => [
        code,
        { summary: ERROR_DEFINITIONS[code].message, value: createErrorExample(code, operation) },
      ]);
      const ownHeaders = errors.flatMap((code) => errorHeaders[code] ?? []);
      const response = {
        description: errors.map((code) => errorDescriptions[code]).join('\n\n'),
        headers: toReferences('headers', [...COMMON_BODY_HEADERS, ...corsHeaders, ...ownHeaders]),
        content: toContent(toErrorSchema(errors, components), Object.fromEntries(examples)),
      };
      const shared = corsHeaders.length > 0 ? undefined : sharedResponses[errors.join()];
      if (shared === undefined) return [status, response];
      components.responses[shared] = response;
      return [status, { $ref: `#/components/responses/${shared}` }];
    }),
  );
}

/** Returns the response body of an error. For a validation error, it is the response to the invalid example. */
function createErrorExample(code: ErrorCode, { name, info, request }: Operation): object {
  if (code !== 'validation_failed' || info.body === undefined) return { error: ERROR_DEFINITIONS[code].message };
  try {
    info.body.parse(scanBody(Buffer.from(JSON.stringify(request?.invalidExample)), info.body.shape));
  } catch (error) {
    return toErrorResponse(toApiError(error));
  }
  throw new Error(`dev/generate/openapi/operations.ts: the invalid example of ${name} is valid`);
}

/** Returns the schema of these errors. In the simple shape, `error` is one of their texts. */
function toErrorSchema(codes: readonly ErrorCode[], components: Components): JsonObject {
  const [shape, ...others] = new Set(codes.map(getErrorResponseSchema));
  if (shape === undefined || others.length > 0)
    throw new Error(`The errors of one status must have one shape, but these have several: ${codes.join(', ')}`);
  const schema = components.output(shape);
  if (shape !== errorResponseSchema) return schema;
  const texts = [...new Set(codes.map((code) => ERROR_DEFINITIONS[code].message))];
  // `required` is repeated, because generators would otherwise make the property optional.
  const refinement = { type: 'object', properties: { error: { type: 'string', enum: texts } }, required: ['error'] };
  return { allOf: [schema, refinement] };
}

const toContent = (schema: JsonObject, examples: Record<string, Example>): JsonObject => ({
  'application/json': { schema, examples: examples as unknown as Json },
});

const toReferences = (kind: string, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/${kind}/${name}` }]));
