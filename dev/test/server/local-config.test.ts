import { readFileSync } from 'node:fs';
import { readConfig, StartupError } from '../../server/local-config';

test('without any variable, every setting has the default that CONTRIBUTING.md documents', () => {
  const rows = readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/^\| `([A-Z_]+)` +\| `(\S+)` +\|/gm);
  const documented = new Map([...rows].map(([, name = '', value]) => [name, value]));
  const names = ['FUNCTIONS_PORT', 'FIRESTORE_PORT', 'DATA_DIR', 'SAMPLE_DATA', 'API_KEY', 'CORS_ALLOWED_ORIGINS'];
  expect([...documented.keys()]).toEqual(names);
  for (const env of [{}, Object.fromEntries(documented)]) {
    expect(readConfig(env)).toEqual({
      functionsPort: 5001,
      firestore: { port: 8080, dataDir: '.local-data' },
      sampleData: true,
      apiKey: 'local-dev-key',
      corsAllowedOrigins: 'http://localhost:3000',
    });
  }
});

test('an empty API key and empty origins mean none, and every other empty variable counts as unset', () => {
  const names = ['FUNCTIONS_PORT', 'FIRESTORE_PORT', 'FIRESTORE_EMULATOR_HOST', 'DATA_DIR', 'SAMPLE_DATA'];
  const empty = Object.fromEntries([...names, 'API_KEY', 'CORS_ALLOWED_ORIGINS'].map((name) => [name, '']));
  expect(readConfig(empty)).toEqual({ ...readConfig({}), apiKey: '', corsAllowedOrigins: '' });
});

test('every setting is read from its variable', () => {
  const env = {
    FUNCTIONS_PORT: '0',
    FIRESTORE_PORT: '65535',
    DATA_DIR: ':memory:',
    SAMPLE_DATA: 'false',
    API_KEY: 'one\ntwo',
    CORS_ALLOWED_ORIGINS: 'https://a.example,https://b.example',
  };
  expect(readConfig(env)).toEqual({
    functionsPort: 0,
    firestore: { port: 65_535, dataDir: ':memory:' },
    sampleData: false,
    apiKey: 'one\ntwo',
    corsAllowedOrigins: 'https://a.example,https://b.example',
  });
  expect(readConfig({ ...env, FIRESTORE_EMULATOR_HOST: '127.0.0.1:9000' }).firestore).toBe('127.0.0.1:9000');
});

test.each([
  ['FUNCTIONS_PORT', '65536'],
  ['FUNCTIONS_PORT', '-1'],
  ['FUNCTIONS_PORT', '5001 5002'],
  ['FIRESTORE_PORT', 'http'],
  ['SAMPLE_DATA', 'yes'],
  ['FIRESTORE_EMULATOR_HOST', 'localhost'],
  ['FIRESTORE_EMULATOR_HOST', 'http://localhost:8080'],
])('%s=%s is rejected with its name and value', (name, value) => {
  const read = () => readConfig({ [name]: value });
  expect(read).toThrow(StartupError);
  expect(read).toThrow(new RegExp(`^${name} .*"${value}"`));
});
