import { READ_BODY_LIMITS } from '../../../functions/src/lib/payload-limits';
import type { JsonObject } from './schemas';

/** Request and response headers of the description. */

export const headers = {
  'X-Request-Id': {
    description:
      "The client's request id if it is well-formed; otherwise an id that the service generated. Quote it when you contact support.",
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_.-]{1,128}$' },
    example: '5f0c9f3e-7a3e-4a55-9f57-1f3b6a9c2d10',
  },
  'Cache-Control': {
    description: 'Tells caches not to store the response.',
    required: true,
    schema: { type: 'string', enum: ['no-store'] },
  },
  'X-Content-Type-Options': {
    description: 'Tells browsers not to guess another content type.',
    required: true,
    schema: { type: 'string', enum: ['nosniff'] },
  },
  Vary: {
    description: 'Request headers that the response depends on.',
    required: true,
    schema: {
      type: 'string',
      enum: ['Accept-Encoding', 'Origin, Accept-Encoding', 'Origin', 'Origin, Access-Control-Request-Headers'],
    },
  },
  'Content-Encoding': {
    description: 'Compression of the body, if `Accept-Encoding` prefers gzip and the body is large enough.',
    schema: { type: 'string', enum: ['gzip'] },
  },
  Allow: {
    description: 'The method of the operation.',
    required: true,
    schema: { type: 'string', enum: ['GET', 'POST'] },
  },
  'Retry-After': {
    description:
      'Seconds to wait before you send the same request again, which may then succeed. Without the header, do what the description of the error says.',
    schema: { type: 'integer', minimum: 1, maximum: 300 },
    example: 10,
  },
  'X-Payload-Limit-Bytes': {
    description: 'The limit that was exceeded, in bytes. Absent for the scope `products`.',
    schema: { type: 'integer', minimum: 1 },
    example: READ_BODY_LIMITS.maxBytes,
  },
  'X-Payload-Limit-Scope': {
    description:
      'What the limit applies to: the bytes of the body, the number of its products, or the bytes of the payload to store, as canonical JSON or compressed.',
    required: true,
    schema: { type: 'string', enum: ['body', 'products', 'canonical', 'compressed'] },
  },
  'WWW-Authenticate': {
    description: 'Names the header that carries the API key.',
    required: true,
    schema: { type: 'string', enum: ['ApiKey header="x-api-key"'] },
  },
  'Idempotent-Replayed': {
    description:
      'Present if this request did not create this response, but got the stored response to the same payload.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Access-Control-Allow-Origin': {
    description: 'The origin of the request, if it is allowed.',
    schema: { type: 'string' },
    example: 'https://dashboard.example.com',
  },
  'Access-Control-Expose-Headers': {
    description: 'Headers that a page of an allowed origin may read.',
    schema: { type: 'string', enum: ['X-Request-Id'] },
  },
  'Access-Control-Allow-Methods': {
    description: 'The allowed method, if the origin is allowed.',
    schema: { type: 'string', enum: ['GET'] },
  },
  'Access-Control-Allow-Headers': {
    description: 'The request headers that the browser asked for, if the origin is allowed.',
    schema: { type: 'string' },
  },
  'Access-Control-Max-Age': {
    description: 'Seconds for which a browser may cache the response to the preflight, if the origin is allowed.',
    schema: { type: 'string', enum: ['3600'] },
  },
} as const satisfies JsonObject;

export type HeaderName = keyof typeof headers;

export const COMMON_HEADERS: HeaderName[] = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options', 'Vary'];
export const COMMON_BODY_HEADERS: HeaderName[] = [...COMMON_HEADERS, 'Content-Encoding'];
export const CORS_HEADERS: HeaderName[] = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'];
export const PREFLIGHT_HEADERS: HeaderName[] = [
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods',
  'Access-Control-Allow-Headers',
  'Access-Control-Max-Age',
];

/** Request headers that are parameters. The API key is a security scheme. */
export const parameters = {
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    // The schema has no pattern, because the service replaces a malformed identifier. The parameter has no example, because the
    // reference page would send it with every request.
    description:
      "The client's identifier of this request: 1 to 128 ASCII letters, digits, `_`, `.` and `-`. The service replaces any other identifier.",
    schema: { type: 'string' },
  },
  Origin: {
    name: 'Origin',
    in: 'header',
    description:
      'Origin of the calling page, set by the browser. A response to a request without it has no CORS headers.',
    schema: { type: 'string' },
    example: 'https://dashboard.example.com',
  },
};
