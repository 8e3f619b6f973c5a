import type { Answer, Operation } from './sequence';

/** A known difference between Google's emulator and the embedded Firestore. */
export interface Deviation {
  readonly id: string;
  readonly what: string;
  /** What Google's emulator answers. */
  readonly google: string;
  /** What the embedded Firestore answers. */
  readonly embedded: string;
  /** What production documents, or that it documents nothing. */
  readonly production: string;
  readonly source: string;
  readonly matches: (difference: Found) => boolean;
}

/** Two answers to one call that differ. */
interface Found {
  readonly operation: Operation;
  readonly google: Answer;
  readonly ours: Answer;
}

/** Every known difference. One that is not here fails the replay, and so does an entry that no longer differs. */
export const deviations: readonly Deviation[] = [];

/** The entry that explains a difference. */
export const findDeviation = (found: Found): Deviation | undefined => deviations.find(({ matches }) => matches(found));
