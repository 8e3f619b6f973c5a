import { findOriginProblem } from '../../../src/lib/origins';

test.each([
  'https://dashboard.example.com',
  'http://localhost:3000',
  'https://[::1]:8443',
  'https://a-1.b.example.',
  'http://my_service:3000',
  'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  'null',
])('the origin %s can be sent by a browser', (origin) => {
  expect(findOriginProblem(origin)).toBeUndefined();
});

test.each([
  'http://localhost:3000/',
  'HTTPS://A.example.com',
  'https://a.example.com:443',
  'https://user@a.example.com',
  'https://münchen.example',
  'http://127.1:3000',
  'file://',
  'localhost:3000',
  'https://${dashboard_host}',
  'https://a..example',
])('no browser sends the origin %s', (origin) => {
  expect(findOriginProblem(origin)).toContain(`"${origin}" is not an origin as browsers send it`);
});

test.each(['*', 'https://*.example.com'])('the origin %s is rejected as a pattern', (origin) => {
  expect(findOriginProblem(origin)).toContain(`"${origin}" is a pattern`);
});
