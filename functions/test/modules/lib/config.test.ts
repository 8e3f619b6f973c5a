import { getDatabaseId, isCloudRunInstance } from '../../../src/lib/config';

const setEnvironment = (variables: NodeJS.ProcessEnv) =>
  jest.replaceProperty(process, 'env', {
    ...process.env,
    K_SERVICE: undefined,
    FUNCTIONS_EMULATOR: undefined,
    ...variables,
  });

afterEach(() => jest.restoreAllMocks());

test.each([
  [{}, false],
  [{ K_SERVICE: 'getteams' }, true],
  [{ K_SERVICE: 'getteams', FUNCTIONS_EMULATOR: 'true' }, false],
])('with the variables %j, isCloudRunInstance returns %j', (variables, isInstance) => {
  setEnvironment(variables);
  expect(isCloudRunInstance()).toBe(isInstance);
});

test.each([
  ['', '(default)'],
  [' ', '(default)'],
  [' restored\n', 'restored'],
])('DATABASE_ID %j names the database %s', (value, name) => {
  setEnvironment({ DATABASE_ID: value });
  expect(getDatabaseId()).toBe(name);
});

const loadConfig = () => jest.isolateModules(() => jest.requireActual('../../../src/lib/config'));

test.each(['true', 'false', undefined])('WRITES_PAUSED can be %j', (value) => {
  setEnvironment({ WRITES_PAUSED: value });
  expect(loadConfig).not.toThrow();
});

test.each(['True', '1', 'true\n', ''])('WRITES_PAUSED cannot be %j', (value) => {
  setEnvironment({ WRITES_PAUSED: value });
  expect(loadConfig).toThrow(`WRITES_PAUSED must be "true" or "false", not ${JSON.stringify(value)}.`);
});
