import { status } from '@grpc/grpc-js';
import { ResolutionError, type ResolutionErrorCode } from '../src/price-lists/resume';

/** Describes errors for the operator: what failed, and what to do. */

/** The error of a command. Its message is printed unchanged. */
export class CommandError extends Error {}

export function describeError(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  if (error instanceof ResolutionError) return describeResolutionError(error);
  if (!(error instanceof Error)) return `Failed: ${String(error)}`;
  const code = 'code' in error && typeof error.code === 'number' ? status[error.code] : undefined;
  return code === undefined ? `Failed: ${error.message}` : describeFirestoreError(code, error.message);
}

/** Describes why a key was not resolved, and what an operator can do. */
function describeResolutionError({ code, detail = 'unknown' }: ResolutionError): string {
  const texts: Record<ResolutionErrorCode, string> = {
    key_in_progress: 'Another attempt on the key is in progress. Wait for it.',
    key_released: 'The key was released: the client may send the request again.',
    key_resolved: 'The key was resolved meanwhile. Look at it again.',
    key_in_review_again: 'The key requires review again since it was read. Look at it first.',
    lists_ready: 'The key is completed: there is nothing to release.',
    payload_unusable: `The payload cannot be used: ${detail}. This attempt can only be released; the client then has to send the request again.`,
  };
  return texts[code];
}

export const NO_CREDENTIALS = 'There are no usable credentials. Run: gcloud auth application-default login';

function describeFirestoreError(code: string, message: string): string {
  switch (code) {
    case 'UNAUTHENTICATED':
      return NO_CREDENTIALS;
    case 'PERMISSION_DENIED':
      return 'This account may not use Firestore in this project. Check --project, and the role roles/datastore.user.';
    case 'NOT_FOUND':
      return 'This project has no Firestore database. Check --project.';
    case 'RESOURCE_EXHAUSTED':
      return 'Firestore refuses calls because there are too many: check the quotas of the project.';
    case 'INTERNAL':
    case 'CANCELLED':
    case 'UNKNOWN':
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
      return `Firestore does not answer (${code}). Check the network, --project, and Firestore at status.cloud.google.com.`;
    default:
      // Firestore's own message says, for example, which index is missing.
      return `Firestore refused: ${message.replace(/^\d+ [A-Z_]+: /, '')}`;
  }
}

export const describeUnreadable = (path: string): string =>
  `${path} cannot be read, and is left out. If a later version wrote it, deploy that again; report one changed by hand.`;
