import { ERROR_DEFINITIONS, type ErrorCode } from '../../functions/src/lib/errors';
import { MAX_BODY_BYTES } from '../../functions/src/lib/http/request-body';
import { addPriceListsRequestSchema, MAX_FIELD_ERRORS } from '../../functions/src/lib/schemas/add-price-lists';
import { ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema } from '../../functions/src/lib/schemas/requests';
import * as responses from '../../functions/src/lib/schemas/responses';
import {
  READ_BODY_TIMEOUT_MS,
  rangeOptions,
  WRITE_BODY_TIMEOUT_MS,
  writeOptions,
} from '../../functions/src/lib/runtime-options';
import { version } from '../../functions/package.json';
import * as examples from './examples';
import { Components, type Json, type JsonObject, type ZodSchema } from './schemas';

/** Writes the interface down as OpenAPI 3.1: the service's own schemas, error table and limits, and prose where JSON Schema ends. */

/** One operation, as far as it differs from the others. */
interface Operation {
  name: string;
  method: 'get' | 'post';
  tag: 'Organisation data' | 'Price lists';
  summary: string;
  description: string;
  request?: { schema: ZodSchema; examples: Record<string, Example>; timeoutMs: number };
  answer: { schema: ZodSchema; description: string; examples: Record<string, Example>; headers?: HeaderName[] };
  errors?: ErrorCode[];
  /** Whether browsers may call from the allowed origins. */
  browsers?: boolean;
}

interface Example {
  summary: string;
  value: object;
}

const BODY_ERRORS = ['validation_failed', 'request_timeout', 'payload_too_large'] as const satisfies ErrorCode[];
const COMMON_ERRORS = [
  'invalid_api_key',
  'method_not_allowed',
  'api_key_not_configured',
  'internal_error',
] as const satisfies ErrorCode[];

const NULLS = 'Records with missing or malformed fields are answered too, those fields as null.';
const RANGE =
  '`start_date` is the first day, `end_date` the day after the last; an empty or reversed range selects nothing.';
const ALL_AT_ONCE = 'No pagination: everything is in one answer.';

const operations: Operation[] = [
  {
    name: 'getOrdersByTeam',
    method: 'post',
    tag: 'Organisation data',
    summary: 'Get orders by team',
    description: `The orders of a team that were created within a range of days, with one status or any. ${RANGE} ${NULLS} ${ALL_AT_ONCE}`,
    request: {
      schema: ordersByTeamRequestSchema,
      examples: { month: { summary: 'Delivered orders of July 2026', value: examples.ordersByTeam } },
      timeoutMs: READ_BODY_TIMEOUT_MS,
    },
    answer: {
      schema: responses.ordersByTeamResponse,
      description: 'The orders, under their identifiers.',
      examples: {
        found: { summary: 'Two orders, one of them incomplete', value: examples.answers.orders },
        none: { summary: 'No order matches', value: examples.answers.noOrders },
      },
    },
    errors: [...BODY_ERRORS],
  },
  {
    name: 'getWarehouses',
    method: 'get',
    tag: 'Organisation data',
    summary: 'Get warehouses',
    description: `All warehouses. The one operation that a browser may call, from the allowed origins; any other caller is answered without CORS headers. ${NULLS} ${ALL_AT_ONCE}`,
    answer: {
      schema: responses.warehousesResponse,
      description: 'The warehouses, under their identifiers.',
      examples: {
        found: { summary: 'Two warehouses, one of them without a name', value: examples.answers.warehouses },
      },
    },
    browsers: true,
  },
  {
    name: 'getMarkets',
    method: 'get',
    tag: 'Organisation data',
    summary: 'Get markets',
    description: `All markets. ${NULLS} ${ALL_AT_ONCE}`,
    answer: {
      schema: responses.marketsResponse,
      description: 'The markets, under their identifiers.',
      examples: { found: { summary: 'One market', value: examples.answers.markets } },
    },
  },
  {
    name: 'getTeams',
    method: 'get',
    tag: 'Organisation data',
    summary: 'Get teams',
    description: `All teams. ${NULLS} ${ALL_AT_ONCE}`,
    answer: {
      schema: responses.teamsResponse,
      description: 'The teams, under their identifiers.',
      examples: { found: { summary: 'One team', value: examples.answers.teams } },
    },
  },
  {
    name: 'supplyOrdersInvoices',
    method: 'post',
    tag: 'Organisation data',
    summary: 'Supply orders invoices',
    description: `The supply orders of a team that were created within a range of days, with their invoices. ${RANGE} ${ALL_AT_ONCE}`,
    request: {
      schema: supplyOrdersInvoicesRequestSchema,
      examples: {
        month: { summary: 'Supply orders of July 2026 with any status', value: examples.supplyOrdersInvoices },
      },
      timeoutMs: READ_BODY_TIMEOUT_MS,
    },
    answer: {
      schema: responses.supplyOrdersInvoicesResponse,
      description: 'The supply orders, oldest first.',
      examples: { found: { summary: 'Two supply orders, one without invoices', value: examples.answers.supplyOrders } },
    },
    errors: [...BODY_ERRORS],
  },
  {
    name: 'addPriceLists',
    method: 'post',
    tag: 'Price lists',
    summary: 'Add price lists',
    description: [
      'Creates a price list and an expected forward cost list for a market, with an entry for each product, exactly once for each `boq_list_id`.',
      'Sending the same payload again is always safe: once the lists are created, it gets the first answer, byte for byte, with `Idempotent-Replayed: true`. Key order, `1` or `1.0` and `usd` or `USD` make no difference to what is the same payload; fields that are not described here are ignored.',
      'Without a market of that identifier the request is stored, and `market`, `expected_forward_cost` and `price_list` are null.',
      `Allow up to ${writeOptions.timeoutSeconds / 60} minutes for the largest lists.`,
    ].join('\n\n'),
    request: {
      schema: addPriceListsRequestSchema,
      examples: { june: { summary: 'Two products for June 2026', value: examples.priceList } },
      timeoutMs: WRITE_BODY_TIMEOUT_MS,
    },
    answer: {
      schema: responses.addPriceListsResponse,
      description: 'The lists are created and ready, by this request or by an identical one before it.',
      examples: {
        created: { summary: 'The market exists', value: examples.answers.created },
        storedOnly: { summary: 'No such market', value: examples.answers.storedOnly },
      },
      headers: ['Idempotent-Replayed'],
    },
    errors: [...BODY_ERRORS, 'idempotency_key_reused', 'request_in_progress', 'review_required', 'creation_failed'],
  },
];

/** What each error means to a caller, and what to do about it. */
const advice: Record<ErrorCode, string> = {
  validation_failed: `The body breaks a rule; \`errors\` names the fields, at most ${MAX_FIELD_ERRORS} of them for add price lists. Correct it before sending it again.`,
  invalid_api_key: 'The key is missing or invalid.',
  origin_not_allowed: 'A preflight from an origin that is not allowed.',
  method_not_allowed: 'Any method but the one in `Allow`, `HEAD` included.',
  request_timeout: 'The body did not arrive in time. Send it again.',
  idempotency_key_reused:
    'The `boq_list_id` belongs to another payload. Sending this one again is of no use: use a new identifier.',
  request_in_progress: 'An identical request is in progress: send it again after the seconds in `Retry-After`.',
  review_required: 'Without `Retry-After`, an operator has to resolve the request: call us.',
  payload_too_large: 'The body is too large, as sent or inflated.',
  api_key_not_configured: 'The service has no key to compare with: call us.',
  creation_failed:
    'The lists could not be created; what was written is marked failed. An operator has to settle it: call us.',
  internal_error: 'The service failed. Send the request again; that is safe for every operation.',
};

const headers = {
  'X-Request-Id': {
    description:
      "The caller's, if it was well-formed, or one that the service made. Quote it when you ask about a request.",
    required: true,
    schema: { type: 'string', pattern: '^[\\w.-]{1,128}$' },
    example: '5f0c9f3e-7a3e-4a55-9f57-1f3b6a9c2d10',
  },
  'Cache-Control': {
    description: 'Answers are for nobody else.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  'X-Content-Type-Options': {
    description: 'The type is as said.',
    required: true,
    schema: { type: 'string', const: 'nosniff' },
  },
  Vary: {
    description: 'The request headers that the answer depends on.',
    required: true,
    schema: { type: 'string', enum: ['Accept-Encoding', 'Origin, Accept-Encoding', 'Origin'] },
  },
  'Content-Encoding': {
    description: 'How the body is compressed, where `Accept-Encoding` allows it and the body is large enough.',
    schema: { type: 'string', enum: ['gzip', 'br'] },
  },
  Allow: {
    description: 'The method to use instead.',
    required: true,
    schema: { type: 'string', enum: ['GET', 'POST'] },
  },
  'Retry-After': {
    description: 'Seconds after which to send the identical request again. Absent where that would be of no use.',
    schema: { type: 'integer', minimum: 1, maximum: 30 },
    example: 30,
  },
  'Idempotent-Replayed': {
    description: 'Present when this answer is that of an identical request before.',
    schema: { type: 'string', const: 'true' },
  },
  'Access-Control-Allow-Origin': {
    description: "The caller's origin, if it is allowed; absent otherwise.",
    schema: { type: 'string' },
    example: 'https://dashboard.example.com',
  },
  'Access-Control-Expose-Headers': {
    description: 'The headers that a page may read, for an allowed origin.',
    schema: { type: 'string', const: 'X-Request-Id' },
  },
  'Access-Control-Allow-Methods': { description: 'For an allowed origin.', schema: { type: 'string', const: 'GET' } },
  'Access-Control-Allow-Headers': {
    description: 'For an allowed origin.',
    schema: { type: 'string', const: 'x-api-key,Content-Type,X-Request-Id' },
  },
  'Access-Control-Max-Age': {
    description: 'Seconds for which a browser may remember the answer, for an allowed origin.',
    schema: { type: 'string', const: '3600' },
  },
} as const satisfies JsonObject;

type HeaderName = keyof typeof headers;

const EVERY_ANSWER: HeaderName[] = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options', 'Vary'];
const EVERY_BODY: HeaderName[] = [...EVERY_ANSWER, 'Content-Encoding'];
const TO_BROWSERS: HeaderName[] = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'];
const TO_PREFLIGHTS: HeaderName[] = [
  ...TO_BROWSERS,
  'Access-Control-Allow-Methods',
  'Access-Control-Allow-Headers',
  'Access-Control-Max-Age',
];

const headersOfError: Partial<Record<ErrorCode, HeaderName[]>> = {
  method_not_allowed: ['Allow'],
  request_in_progress: ['Retry-After'],
};

const references = (kind: string, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/${kind}/${name}` }]));

const parameters = {
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An identifier of your own for this request. One that is not well-formed is replaced.',
    schema: { type: 'string', pattern: '^[\\w.-]{1,128}$' },
  },
  'Content-Encoding': {
    name: 'Content-Encoding',
    in: 'header',
    description: 'How the body is compressed, if it is.',
    schema: { type: 'string', enum: ['gzip', 'identity'] },
  },
  Origin: {
    name: 'Origin',
    in: 'header',
    description:
      'Where the page that asks was loaded from: set by the browser. Without it the answer has no CORS headers.',
    schema: { type: 'string' },
    example: 'https://dashboard.example.com',
  },
};

/** The document. A pure function of the service's code. */
export function openApiDocument(): JsonObject {
  const components = new Components();
  const paths = Object.fromEntries(
    operations.map((operation) => [`/${operation.name}`, pathOf(operation, components)]),
  );
  const schemas = Object.fromEntries(Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Organisation data and price lists',
      version,
      description: introduction(),
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [
      { url: 'http://127.0.0.1:5001/demo-price-lists/us-central1', description: 'npm start' },
      {
        url: 'https://us-central1-{project}.cloudfunctions.net',
        description: 'A deployment',
        variables: { project: { default: 'your-project', description: 'The Firebase project' } },
      },
    ],
    security: [{ apiKey: [] }],
    tags: [
      {
        name: 'Organisation data',
        description: 'Orders, warehouses, markets, teams and supply order invoices. Read only.',
      },
      { name: 'Price lists', description: 'Creation of price lists and expected forward cost lists, exactly once.' },
    ],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The key that you were given.' },
      },
      parameters,
      headers,
      schemas,
    },
  };
}

function pathOf(operation: Operation, components: Components): JsonObject {
  const { method, browsers = false } = operation;
  return {
    [method]: operationOf(operation, components),
    ...(browsers ? { options: preflight(components) } : {}),
  };
}

function operationOf(operation: Operation, components: Components): JsonObject {
  const { name, tag, summary, description, request, answer, errors = [], browsers = false } = operation;
  const own = browsers ? TO_BROWSERS : [];
  return {
    operationId: name,
    tags: [tag],
    summary,
    description,
    parameters: [
      { $ref: '#/components/parameters/X-Request-Id' },
      ...(request === undefined ? [] : [{ $ref: '#/components/parameters/Content-Encoding' }]),
    ],
    ...(request === undefined ? {} : { requestBody: requestBody(request, components) }),
    responses: {
      200: {
        description: answer.description,
        headers: references('headers', [...EVERY_BODY, ...own, ...(answer.headers ?? [])]),
        content: content(components.output(answer.schema), answer.examples),
      },
      ...refusals(name, [...COMMON_ERRORS, ...errors], own, components),
    },
  };
}

function requestBody(
  { schema, examples, timeoutMs }: NonNullable<Operation['request']>,
  components: Components,
): JsonObject {
  return {
    required: true,
    description: `UTF-8, plain or gzip, at most ${MAX_BODY_BYTES / 1024 ** 2} MiB as sent and inflated alike, sent within ${timeoutMs / 1000} s.`,
    content: content(components.input(schema), examples),
  };
}

function preflight(components: Components): JsonObject {
  return {
    operationId: 'getWarehousesPreflight',
    tags: ['Organisation data'],
    summary: 'Preflight of get warehouses',
    description: 'What a browser asks before it sends the key. Needs no key.',
    security: [],
    parameters: [{ $ref: '#/components/parameters/X-Request-Id' }, { $ref: '#/components/parameters/Origin' }],
    responses: {
      204: {
        description: 'An allowed origin may call; a caller without an origin is told nothing.',
        headers: references('headers', [...EVERY_ANSWER, ...TO_PREFLIGHTS]),
      },
      ...refusals('getWarehouses', ['origin_not_allowed', 'internal_error'], [], components),
    },
  };
}

/** The errors of an operation by status: a status that several share lists the texts of all. */
function refusals(
  operation: string,
  codes: readonly ErrorCode[],
  own: HeaderName[],
  components: Components,
): JsonObject {
  const statuses = [...new Set(codes.map((code) => ERROR_DEFINITIONS[code].status))].sort();
  return Object.fromEntries(
    statuses.map((status) => {
      const here = codes.filter((code) => ERROR_DEFINITIONS[code].status === status);
      return [
        status,
        {
          description: here.map((code) => advice[code]).join('\n\n'),
          headers: references('headers', [
            ...EVERY_BODY,
            ...own,
            ...here.flatMap((code) => headersOfError[code] ?? []),
          ]),
          content: content(
            errorSchema(here, components),
            Object.fromEntries(
              here.map((code) => [
                code,
                { summary: ERROR_DEFINITIONS[code].message, value: examples.refusal(code, operation) },
              ]),
            ),
          ),
        },
      ];
    }),
  );
}

/** The shape of these errors, and for the simple one the texts that it can hold. */
function errorSchema(codes: readonly ErrorCode[], components: Components): JsonObject {
  const texts = codes.map((code) => ERROR_DEFINITIONS[code].message);
  const [shape, ...others] = new Set(codes.map(responses.getErrorResponseSchema));
  if (shape === undefined || others.length > 0) throw new Error(`one status, several shapes: ${codes.join(', ')}`);
  const schema = components.output(shape);
  return shape === responses.errorResponseSchema
    ? { allOf: [schema, { properties: { error: { enum: [...new Set(texts)] } } }] }
    : schema;
}

const content = (schema: JsonObject, examples: Record<string, Example>): JsonObject => ({
  'application/json': { schema, examples: examples as unknown as Json },
});

function introduction(): string {
  const limits = {
    'Body of a request, as sent and inflated': `${MAX_BODY_BYTES / 1024 ** 2} MiB (${MAX_BODY_BYTES} bytes)`,
    'Time to send the body': `${READ_BODY_TIMEOUT_MS / 1000} s; add price lists ${WRITE_BODY_TIMEOUT_MS / 1000} s`,
    'Time for the answer': `${rangeOptions.timeoutSeconds} s; add price lists ${writeOptions.timeoutSeconds} s`,
    'Products of a price list': 'at least 1, and as many as fit into the body',
    'Errors listed of a refused price list': `${MAX_FIELD_ERRORS}; the message then says that there may be more`,
  };
  return [
    'JSON over HTTP. Each operation has an address of its own below one base; there are no further paths, and no path or query parameters.',
    'Requests are judged in this order, and the first refusal is the answer: preflight, method, key, body, work. No byte of a body is read before the key is accepted.',
    'The keys of an object stand in no order that a caller may rely on. Fields that are not described here are ignored in a request.',
    ['| Limit | Value |', '|---|---|', ...Object.entries(limits).map((row) => `| ${row.join(' | ')} |`)].join('\n'),
  ].join('\n\n');
}
