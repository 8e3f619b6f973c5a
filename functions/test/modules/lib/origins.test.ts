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

test.each([
  'http://localhost:3000/',
  'dashboard.example.com',
  'https://a.example.com/path?x#y',
  'HTTPS://A.example.com',
  'https://a.example.com:443',
  'https://user@a.example.com',
  'https://münchen.example',
  'http://127.1:3000',
  'http://[0:0::1]',
  'file://',
  'app://',
  'localhost:3000',
  'https://300.300.300.300',
  'two words',
])('no browser sends %s', (origin) => {
  expect(findOriginProblem(origin)).toContain(`"${origin}" is not an origin as browsers send it`);
});

test.each(['*', 'https://*.example.com'])('%s is a pattern', (origin) => {
  expect(findOriginProblem(origin)).toContain(`"${origin}" is a pattern`);
});
