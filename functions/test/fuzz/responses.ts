import type { IncomingHttpHeaders } from 'node:http';
import { assertConforms } from '../../../scripts/harness/conformance';
import { decodeBody } from '../../../scripts/harness/http';
import type { RequestInfo } from '../../../scripts/harness/received-response';

/** Statuses of responses without a body that Node's server sends instead of the service. */
const BARE = new Set([
  400, // not HTTP
  408, // a head that did not arrive in time
  413, // extensions of a chunk
  417, // an expectation that is not 100-continue
  431, // a head of more than 16 KiB
]);

/**
 * Checks that the received bytes are complete responses in succession. Each has a status of {@link BARE} and no body, or
 * a status below 500 and the form that docs/openapi.json describes.
 *
 * @returns the status and the kind of each response, such as `200 JSON` or `400 bare` @throws Error for another response
 */
export function checkResponses(bytes: Buffer, request: RequestInfo): string[] {
  const kinds: string[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf('\r\n\r\n');
    const [line = '', ...fields] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    const headers: IncomingHttpHeaders = Object.fromEntries(
      fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
    );
    rest = rest.subarray(end + 4);
    if (status === 100) continue;
    // Only Node's own empty responses are chunked here, because the service chunks only longer ones.
    const isChunked = headers['transfer-encoding'] === 'chunked' && rest.subarray(0, 5).toString() === '0\r\n\r\n';
    const hasBody = request.method !== 'HEAD' && status !== 204 && !isChunked;
    const length = hasBody ? Number(headers['content-length'] ?? 0) : 0;
    const body = rest.subarray(0, length);
    rest = rest.subarray(isChunked ? 5 : body.length);
    if (end === -1 || status >= 500 || body.length < length)
      throw new Error(`an error or a part of a response: ${line}`);
    if (headers['content-type'] === undefined && body.length === 0 && BARE.has(status)) {
      kinds.push(`${status} bare`);
      continue;
    }
    const text = decodeBody(body, headers['content-encoding']).toString();
    const json = text === '' ? undefined : (JSON.parse(text) as unknown);
    assertConforms(request, { status, headers, bytes: body, text, json });
    kinds.push(status === 204 ? '204' : `${status} JSON`);
  }
  return kinds;
}
