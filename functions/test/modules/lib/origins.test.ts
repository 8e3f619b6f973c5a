import { findOriginProblem } from '../../../src/lib/origins';

test.each([
  'https://dashboard.example.com',
  'http://localhost:3000',
  'https://[::1]:8443',
  'chrome-extension://abcdefgh',
  'null',
])('%s can be sent by a browser', (origin) => {
  expect(findOriginProblem(origin)).toBeUndefined();
});

test.each([
  ['http://localhost:3000/', 'write http://localhost:3000.'],
  ['localhost:3000', 'write http://localhost:3000.'],
  ['dashboard.example.com', 'write https://dashboard.example.com.'],
  ['https://a.example.com/path?x#y', 'write https://a.example.com.'],
  ['HTTPS://A.example.com', 'write https://a.example.com.'],
  ['https://a.example.com:443', 'write https://a.example.com.'],
  ['https://user@a.example.com', 'write https://a.example.com.'],
  ['*', 'list each origin.'],
  ['https://*.example.com', 'list each origin.'],
  ['https://', 'is not an origin such as https://dashboard.example.com.'],
  ['two words', 'is not an origin such as https://dashboard.example.com.'],
])('%s can never match: %s', (origin, advice) => {
  const problem = findOriginProblem(origin);
  expect(problem).toContain(`"${origin}"`);
  expect(problem).toContain(advice);
});
