import { createDefaultCredentials } from '../../../../src/lib/firestore/credentials';

test("in Firebase's emulator there are no credentials of a real database", () => {
  jest.replaceProperty(process, 'env', { ...process.env, FUNCTIONS_EMULATOR: 'true' });
  expect(createDefaultCredentials).toThrow('No FIRESTORE_EMULATOR_HOST: start the Firestore emulator too');
  jest.restoreAllMocks();
});
