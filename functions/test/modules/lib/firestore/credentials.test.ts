import { createDefaultCredentials } from '../../../../src/lib/firestore/credentials';

test("in Firebase's emulator, credentials of a real database are refused", () => {
  jest.replaceProperty(process, 'env', { ...process.env, FUNCTIONS_EMULATOR: 'true' });
  expect(createDefaultCredentials).toThrow('FIRESTORE_EMULATOR_HOST is not set. Start the Firestore emulator too');
  jest.restoreAllMocks();
});
