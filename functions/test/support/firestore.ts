/** Has the service's code and Google's libraries, in this process, use a Firestore that asks for no credentials. */
export function useFirestoreEmulator(address: string, project: string): void {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  process.env['GCLOUD_PROJECT'] = project;
  // As Firebase's own emulator has it: the libraries need not look for credentials that nobody asks for.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
}
