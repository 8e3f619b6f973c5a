import type { DocumentReference, Firestore } from '@google-cloud/firestore';
import { findKeys, getAll, ID_TYPE_OF, ID_TYPES, isReadable, type IdType } from '../../../command/records/find';
import { addOutcomes, type AcceptedRequest } from '../../../command/records/requests';
import { isDocumentId } from '../../../functions/src/lib/document-id';
import { createDatabase } from '../../../functions/src/lib/firestore/database';
import { requestDocument } from '../../../functions/src/lib/repositories/requests';
import { createWorkContext } from '../../../functions/src/lib/work-context';

/** Reads which request, key and lists belong together, as the operator's command does. */

function open(firestore: Firestore) {
  const context = createWorkContext(new AbortController().signal);
  return { db: createDatabase(firestore, context), context };
}

/**
 * Finds the requests that an id leads to: that of the current attempt of each key that the id matches, and those that
 * have the id. The id can be any that `npx --no price-lists show` accepts.
 */
export async function findRequests(
  firestore: Firestore,
  id: string,
  idTypes: readonly IdType[] = ID_TYPES,
): Promise<AcceptedRequest[]> {
  const { db } = open(firestore);
  const found = await findKeys(db, id, idTypes);
  const keys = found.map(({ key }) => key).filter(isReadable);
  const present = keys.map(({ record }) => requestDocument(db, record.document_id));
  const named = found.flatMap(({ requests }) => requests.map(({ ref }) => ref));
  const references = new Map([...present, ...named].map((reference) => [reference.path, reference]));
  const requests = await getAll(db, [...references.values()]);
  return readRows(
    firestore,
    requests.filter(({ exists }) => exists),
  );
}

/** Finds the requests that a key record, a request or a list belongs to. Finds none for any other document. */
export function findRequestsOf(firestore: Firestore, { parent, id }: DocumentReference): Promise<AcceptedRequest[]> {
  const idType = Object.entries(ID_TYPE_OF).find(([collection]) => collection === parent.path)?.[1];
  return idType === undefined ? Promise.resolve([]) : findRequests(firestore, id, [idType]);
}

export async function readRows(
  firestore: Firestore,
  documents: Parameters<typeof addOutcomes>[2],
): Promise<AcceptedRequest[]> {
  const { db, context } = open(firestore);
  return (await addOutcomes(db, context, documents)).requests;
}

export async function findDocuments(
  firestore: Firestore,
  names: readonly string[],
  id: string,
): Promise<DocumentReference[]> {
  const references = isDocumentId(id) ? names.map((name) => firestore.collection(name).doc(id)) : [];
  const documents = await getAll(open(firestore).db, references);
  return documents.filter(({ exists }) => exists).map(({ ref }) => ref);
}
