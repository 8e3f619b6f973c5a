/** Firestore's rules for the id of a document. */

export const MAX_DOCUMENT_ID_BYTES = 1500;

type DocumentIdProblem = 'empty' | 'slash' | 'dots' | 'reserved' | 'too_long';

/** @returns the rule that an id breaks; undefined for a valid id */
export function findDocumentIdProblem(id: string): DocumentIdProblem | undefined {
  if (id === '') return 'empty';
  if (id.includes('/')) return 'slash';
  if (id === '.' || id === '..') return 'dots';
  if (id.length >= 4 && id.startsWith('__') && id.endsWith('__')) return 'reserved';
  return Buffer.byteLength(id) > MAX_DOCUMENT_ID_BYTES ? 'too_long' : undefined;
}

export const isDocumentId = (id: string): boolean => findDocumentIdProblem(id) === undefined;
