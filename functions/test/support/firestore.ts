/** Has the service's code and Google's libraries, in this process, use a Firestore that asks for no credentials. */
export function useFirestoreEmulator(address: string, project: string): void {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  process.env['GCLOUD_PROJECT'] = project;
  // As with Firebase's emulator: the Firestore SDK does not look for credentials that are not needed.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
}
