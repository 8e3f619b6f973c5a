import { invalid } from './errors';
import { parseDocumentPath } from './paths';
import { Reference, type Timestamp, type Value } from './values';

/*
 * Refuses values that Firestore refuses in documents and queries.
 * https://firebase.google.com/docs/firestore/quotas and https://firebase.google.com/docs/firestore/reference/rpc/google.firestore.v1#value
 */

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in seconds since 1970. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;

/** @throws RpcError INVALID_ARGUMENT for a time outside of the years 1 to 9999, or with invalid nanoseconds */
export function assertTimestamp({ seconds, nanos }: Timestamp): void {
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) throw invalid('Timestamp seconds exceeds limit for field.');
  if (nanos < 0 || nanos > 999_999_999) throw invalid('Timestamp nanos exceeds limit for field.');
}

/** Checks a read time or an update time. @throws RpcError INVALID_ARGUMENT for more than microsecond precision */
export function assertMicroseconds({ nanos }: Timestamp): void {
  if (nanos % 1000 !== 0) throw invalid('timestamp cannot have more than microseconds precision');
}

/** Checks the references in a value. Timestamps are checked as they are decoded. @throws RpcError INVALID_ARGUMENT */
export function assertValue(value: Value): void {
  if (Array.isArray(value)) for (const item of value) assertValue(item);
  else if (value instanceof Map) for (const item of value.values()) assertValue(item);
  else if (value instanceof Reference) parseDocumentPath(value.name);
}
