import { randomUUID } from 'node:crypto';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore, type Firestore } from 'firebase-admin/firestore';
import type { CallTimeouts } from '../src/lib/time-limits';
import { configureClient } from '../src/lib/firestore/database';

/** An operator may be far from the database, and a payload is up to 30 MB. A commit ends well before its lease. */
export const CLI_TIMEOUTS_MS: CallTimeouts = { read: 20_000, commit: 20_000, query: 600_000 };

/** A client of its own of the project's database, or of the emulator that FIRESTORE_EMULATOR_HOST names. */
export const createClient = (projectId: string): Firestore =>
  configureClient(getFirestore(initializeApp({ projectId }, `operator-${randomUUID()}`)), CLI_TIMEOUTS_MS);
