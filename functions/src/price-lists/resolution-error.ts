/** Why a key was not resumed or released. The command tells an operator what to do about each. */
const MESSAGES = {
  key_unknown: 'no request was ever accepted for the key',
  key_in_progress: 'another attempt on the key is in progress',
  key_released: 'the key was released meanwhile',
  key_resolved: 'the key was resolved meanwhile',
  key_in_review_again: 'the key requires review again since it was read',
  lists_ready: 'the lists are ready: there is nothing to release',
  payload_unusable: 'the stored payload cannot be used, so the attempt can only be released',
} as const;

export type ResolutionErrorCode = keyof typeof MESSAGES;

export class ResolutionError extends Error {
  override readonly name = 'ResolutionError';

  /** @param detail which key is unknown, or what is wrong with the payload */
  constructor(
    readonly code: ResolutionErrorCode,
    readonly detail?: string,
  ) {
    super(detail === undefined ? MESSAGES[code] : `${MESSAGES[code]}: ${detail}`);
  }
}
