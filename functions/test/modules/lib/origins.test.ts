import { findOriginProblem } from '../../../src/lib/origins';

test.each([
  'https://dashboard.example.com',
  'http://localhost:3000',
  'https://[::1]:8443',
  'https://xn--mnchen-3ya.example',
  'https://my_app.example.com.',
  'https://192.0.2.1',
  'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  'moz-extension://c8b2d5f0-5c5f-4a3b-9f0e-2f6f6f5d4e3c',
  'capacitor://localhost',
  'null',
])('%s can be sent by a browser', (origin) => {
  expect(findOriginProblem(origin)).toBeUndefined();
});

/** A URL parser accepts these; a browser sends `null`, or loads no page from there. */
const NO_ORIGIN = [
  'file://',
  'file:///srv/page.html',
  'file://server',
  'data://text',
  'about://blank',
  'blob://a.example.com',
  'javascript://a.example.com',
  'ws://a.example.com',
  'wss://a.example.com/socket',
  'ftp://a.example.com',
  'app://',
  'app://with%20space',
  'https://a..example.com',
  'https://-a.example.com',
  'https://a!b.example.com',
  'https://300.300.300.300',
  `https://${'a'.repeat(64)}.example.com`,
  `https://${'a.'.repeat(130)}com`,
];

test.each([
  ['http://localhost:3000/', 'write http://localhost:3000.'],
  ['localhost:3000', 'write http://localhost:3000.'],
  ['dashboard.example.com', 'write https://dashboard.example.com.'],
  ['https://a.example.com/path?x#y', 'write https://a.example.com.'],
  ['HTTPS://A.example.com', 'write https://a.example.com.'],
  ['https://a.example.com:443', 'write https://a.example.com.'],
  ['https://user@a.example.com', 'write https://a.example.com.'],
  ['https://münchen.example', 'write https://xn--mnchen-3ya.example.'],
  ['http://127.1:3000', 'write http://127.0.0.1:3000.'],
  ['http://[0:0::1]', 'write http://[::1].'],
  ['*', 'list each origin.'],
  ['https://*.example.com', 'list each origin.'],
  ...NO_ORIGIN.map((origin) => [origin, 'is not an origin such as https://dashboard.example.com.']),
  ['https://', 'is not an origin such as https://dashboard.example.com.'],
  ['two words', 'is not an origin such as https://dashboard.example.com.'],
])('%s can never match: %s', (origin, advice) => {
  const problem = findOriginProblem(origin);
  expect(problem).toContain(`"${origin}"`);
  expect(problem).toContain(advice);
});
