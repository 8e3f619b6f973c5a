import { parseTraceId } from '../../../../src/lib/http/trace-id';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

test.each([
  ['traceparent', { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }, TRACE],
  ["Google's header", { 'x-cloud-trace-context': `${TRACE.toUpperCase()}/123;o=1` }, TRACE],
  [
    'both: traceparent',
    { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, 'x-cloud-trace-context': `${'a'.repeat(32)}/1` },
    TRACE,
  ],
  ['a malformed traceparent', { traceparent: `00-${TRACE}` }, null],
  ['a trace id with something else behind it', { 'x-cloud-trace-context': `${TRACE}x` }, null],
  ['no header', {}, null],
])('the trace id of %s', (_, headers, expected) => {
  expect(parseTraceId(headers)).toBe(expected);
});
