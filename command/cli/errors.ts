import { status } from '@grpc/grpc-js';
import { StoppedError } from '../../functions/src/lib/errors';
import { UnusablePayloadError } from '../../functions/src/price-lists/payload';

/** An error whose message is written for the operator, and printed without the prefix `Failed:`. */
export class CommandError extends Error {}

/** An output cannot be written, so the command stops as after Ctrl-C. price-lists.ts prints the cause, unless the reader closed the pipe. */
export class OutputError extends StoppedError {
  constructor() {
    super('Stopped by an output that cannot be written');
  }
}

export function describeError(error: unknown): string {
  if (error instanceof CommandError || error instanceof StoppedError) return error.message;
  if (error instanceof UnusablePayloadError) {
    return `${describeUnusable(error)} Release the key, unless its attempt is in progress. After a release, the client has to send the request again.`;
  }
  if (!(error instanceof Error)) return `Failed: ${String(error)}`;
  const code = 'code' in error && typeof error.code === 'number' ? status[error.code] : undefined;
  return code === undefined ? `Failed: ${error.message}` : describeFirestoreError(code, error.message);
}

export const describeUnusable = ({ message }: UnusablePayloadError): string =>
  `The stored payload cannot be used: ${message}.`;

/** @param reason the error of Google's library, or Google's response */
export function describeCredentials(reason: string): string {
  const file = process.env['GOOGLE_APPLICATION_CREDENTIALS'];
  // While GOOGLE_APPLICATION_CREDENTIALS is set, Google's library does not use the credentials of gcloud.
  const remedy = file
    ? `If the network works, correct the file ${file}, which GOOGLE_APPLICATION_CREDENTIALS names, or unset that variable.`
    : 'If the network works, run: gcloud auth application-default login';
  return `No usable Google credentials were found: ${reason.replace(/\.$/, '')}. ${remedy}`;
}

function describeFirestoreError(code: string, message: string): string {
  // The gRPC library puts the code before the text of an error.
  const said = message.replace(/^\d+ [A-Z_]+: /, '').replace(/\.$/, '');
  switch (code) {
    case 'UNAUTHENTICATED':
      return describeCredentials(said);
    case 'PERMISSION_DENIED':
      return said.startsWith('Missing or insufficient permissions')
        ? `${said}. Check --project and the role of the account in use: roles/datastore.viewer for a command that only reads, otherwise roles/datastore.user.`
        : `Google denied access: ${said}.`;
    case 'INTERNAL':
    case 'CANCELLED':
    case 'UNKNOWN':
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
      return `Firestore gave no result (${code}). Check the network, --project, and in production status.cloud.google.com.`;
    default:
      // The text says, for example, which index is missing.
      return `Firestore rejected the call: ${said}.`;
  }
}

export const describeUnreadable = (path: string): string =>
  `${path} cannot be read as a key record. If another version wrote it, deploy that version, and use its command. If someone changed it by hand, report it.`;
