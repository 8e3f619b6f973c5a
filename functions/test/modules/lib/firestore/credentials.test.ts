import { credentials } from '@grpc/grpc-js';
import { createDefaultCredentials } from '../../../../src/lib/firestore/credentials';

test("in Firebase's emulator, credentials of a real database are refused", () => {
  jest.replaceProperty(process, 'env', { ...process.env, FUNCTIONS_EMULATOR: 'true' });
  expect(createDefaultCredentials).toThrow('FIRESTORE_EMULATOR_HOST is not set. Start the Firestore emulator too');
  jest.restoreAllMocks();
});

test('unusable settings of TLS are refused with the names of their variables', () => {
  jest.spyOn(credentials, 'createSsl').mockImplementation(() => {
    throw Object.assign(new Error("ENOENT: no such file or directory, open '/none'"), { code: 'ENOENT' });
  });
  expect(createDefaultCredentials).toThrow(
    /^TLS cannot be set up\. Correct GRPC_DEFAULT_SSL_ROOTS_FILE_PATH or .*: unexpected Error \(ENOENT\)$/,
  );
  jest.restoreAllMocks();
});
