import { decodeBody } from '../../../scripts/harness/http';

/** The responses that were received over one connection. */
export interface ConnectionResult {
  /** Status and kind of each response, such as `200 JSON` or `400 bare`. */
  responses: string[];
  /** The violated rule, if any. */
  violation: string | undefined;
}

/** Statuses of responses without a body that Node's server sends instead of the service. */
const BARE = new Set([
  400, // not HTTP
  408, // a head that did not arrive in time
  413, // extensions of a chunk
  417, // an expectation that is not 100-continue
  431, // a head of more than 16 KiB
]);

/** Every status that the service may return to these requests. */
const STATUSES = new Set([200, 204, 400, 401, 403, 405, 408, 409, 413]);

/** Checks that the received bytes are successive responses, each of them JSON, a 204 or one of {@link BARE}. */
export function checkResponses(bytes: Buffer, toHead: boolean): ConnectionResult {
  const responses: string[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return { responses, violation: `a partial head: ${excerpt(rest)}` };
    const [line = '', ...fields] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    const headers = new Map(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    );
    rest = rest.subarray(end + 4);
    if (status === 100) continue;
    const bodyless = toHead || status === 204;
    // Only Node's own empty responses are chunked here. The service chunks only longer responses than
    // these requests get.
    const chunked = headers.get('transfer-encoding') === 'chunked' && rest.subarray(0, 5).toString() === '0\r\n\r\n';
    const body = rest.subarray(0, bodyless || chunked ? 0 : Number(headers.get('content-length') ?? 0));
    rest = rest.subarray(chunked ? 5 : body.length);
    if (!headers.has('content-type') && body.length === 0 && (BARE.has(status) || status === 204)) {
      responses.push(status === 204 ? '204' : `${status} bare`);
      continue;
    }
    const violation = faultOf(status, headers, body, bodyless);
    if (violation !== undefined) return { responses, violation: `${violation}: ${line} ${excerpt(body)}` };
    responses.push(`${status} JSON`);
  }
  return { responses, violation: undefined };
}

function faultOf(status: number, headers: Map<string, string>, body: Buffer, bodyless: boolean): string | undefined {
  if (!STATUSES.has(status)) return 'a status that no request may have';
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return 'not JSON';
  if (headers.get('cache-control') !== 'no-store' || headers.get('x-content-type-options') !== 'nosniff') {
    return 'a security header is missing';
  }
  if (bodyless) return undefined;
  if (body.length !== Number(headers.get('content-length'))) return 'a body that is not whole';
  try {
    const text = decodeBody(body, headers.get('content-encoding')).toString();
    const value = JSON.parse(text) as Record<string, unknown>;
    if (status === 200) return undefined;
    return typeof value['error'] === 'string' || Array.isArray(value['errors']) ? undefined : 'no error in an error';
  } catch {
    return 'a body that is not JSON';
  }
}

const excerpt = (bytes: Buffer) => JSON.stringify(bytes.subarray(0, 200).toString('latin1'));
