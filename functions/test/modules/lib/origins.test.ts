import { findOriginProblem } from '../../../src/lib/origins';

test.each([
  'https://dashboard.example.com',
  'http://localhost:3000',
  'https://[::1]:8443',
  'https://192.0.2.1:8443',
  'https://a-1.b.example.',
  'https://xn--mnchen-3ya.example',
  'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  'capacitor://localhost',
  'null',
])('%s can be sent by a browser', (origin) => {
  expect(findOriginProblem(origin)).toBeUndefined();
});

test.each([
  'http://localhost:3000/',
  'dashboard.example.com',
  'https://a.example.com/path?x#y',
  'HTTPS://A.example.com',
  'https://a.example.com:443',
  'https://user@a.example.com',
  'https://münchen.example',
  'http://127.1:3000',
  'file://',
  'localhost:3000',
  'https://${dashboard_host}',
  "https://'a.example'",
  'https://a..example',
  'https://.example',
  'https://a_b.example',
  'https://a,b',
])('no browser sends %s', (origin) => {
  expect(findOriginProblem(origin)).toContain(`"${origin}" is not an origin as browsers send it`);
});

test.each(['*', 'https://*.example.com'])('%s is a pattern', (origin) => {
  expect(findOriginProblem(origin)).toContain(`"${origin}" is a pattern`);
});
