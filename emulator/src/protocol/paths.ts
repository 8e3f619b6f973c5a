import { invalid } from './errors';

/** The steps of a field path, outermost first. `['__name__']` is the document's name. */
export type FieldPath = readonly string[];

export const NAME: FieldPath = ['__name__'];

/** Returns whether a field path stands for the document's name. */
export const isName = (path: FieldPath): boolean => path.length === 1 && path[0] === '__name__';

/** The resource names of a document, its database and its collection, and the id of the document. */
export interface DocumentPath {
  readonly name: string;
  readonly database: string;
  readonly collection: string;
  readonly id: string;
}

const MAX_ID_BYTES = 1500;

/** Collections nest at most 100 levels deep, and each level has two ids: https://firebase.google.com/docs/firestore/quotas. */
const MAX_IDS = 200;

const RESERVED = /^__.*__$/s;

function assertValidId(id: string): void {
  if (id === '' || id === '.' || id === '..') throw invalid(`Resource id "${id}" is invalid.`);
  if (RESERVED.test(id)) throw invalid(`Resource id "${id}" is invalid because it is reserved.`);
  if (Buffer.byteLength(id) > MAX_ID_BYTES) {
    throw invalid(`Resource id "${id.slice(0, 40)}…" is longer than ${MAX_ID_BYTES} bytes.`);
  }
}

/** Parses a resource name into its database and the ids below `…/documents`, and checks each id. */
function parseName(name: string): { database: string; ids: string[] } {
  const [projects, project, databases, database, documents, ...ids] = name.split('/');
  if (projects !== 'projects' || databases !== 'databases' || documents !== 'documents' || !project || !database) {
    throw invalid(`Resource name "${name.slice(0, 200)}" is not below projects/*/databases/*/documents.`);
  }
  ids.forEach(assertValidId);
  if (ids.length > MAX_IDS) throw invalid(`A resource name has at most ${MAX_IDS} ids: "${name.slice(0, 200)}…"`);
  return { database: `projects/${project}/databases/${database}`, ids };
}

export function parseDocumentPath(name: string): DocumentPath {
  const { database, ids } = parseName(name);
  const id = ids.at(-1);
  if (id === undefined || ids.length % 2 === 1) throw invalid(`"${name}" is not the name of a document.`);
  return { name, database, collection: name.slice(0, name.lastIndexOf('/')), id };
}

/** Checks the parent of a query or a listing: `…/documents`, or a document, which need not exist. */
export function parseParentPath(name: string): string {
  if (parseName(name).ids.length % 2 === 1) throw invalid(`Parent "${name}" is a collection, not a document.`);
  return name;
}

/** @throws RpcError INVALID_ARGUMENT for an id that no collection can have */
export function assertCollectionId(collectionId: string): void {
  if (collectionId.includes('/')) throw invalid(`Collection id "${collectionId}" is invalid.`);
  assertValidId(collectionId);
}

/** Checks the name of a database: `projects/*\/databases/*`. */
export function assertDatabaseName(name: string): void {
  if (!/^projects\/[^/]+\/databases\/[^/]+$/.test(name)) throw invalid(`Database name "${name}" is invalid.`);
}

/** Returns the database of any resource name, as `projects/*\/databases/*`. */
export function getDatabaseName(name: string): string {
  return name.split('/', 4).join('/');
}

/** @throws RpcError INVALID_ARGUMENT for a document of another database */
export function assertInDatabase(path: DocumentPath, database: string): void {
  if (path.database !== database) throw invalid(`Document "${path.name}" is not in the database ${database}.`);
}

/** Returns the collection group of a collection, which is the last id of its resource name. */
export const getCollectionGroup = (collection: string): string => collection.slice(collection.lastIndexOf('/') + 1);

const SIMPLE_PATH = /^[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*$/;

/** Parses a field path. `__name__` alone stands for the document's name. */
export function parseFieldPath(text: string): FieldPath {
  const path = readSteps(text);
  if (!isName(path) && path.some((step) => RESERVED.test(step))) {
    throw invalid(`Invalid reserved name in field path ${text}`);
  }
  return path;
}

/** Reads a path such as `a.b` or `` a.`b.c` ``. In a quoted step, a backslash escapes the next character. */
function readSteps(text: string): FieldPath {
  if (SIMPLE_PATH.test(text)) return text.split('.');
  const steps: string[] = [];
  const step = /(?:([A-Za-z_][A-Za-z_0-9]*)|`((?:[^`\\]|\\.)+)`)(\.|$)/suy;
  for (let at = 0, open = true; at < text.length || open; at = step.lastIndex) {
    step.lastIndex = at;
    const found = step.exec(text);
    if (!found) throw invalid(`Invalid property path "${text}".`);
    steps.push(found[1] ?? found[2]?.replace(/\\(.)/gsu, '$1') ?? '');
    open = found[3] === '.';
  }
  return steps;
}

/** Formats a field path as {@link parseFieldPath} reads it. */
export function formatFieldPath(path: FieldPath): string {
  return path
    .map((step) => (/^[A-Za-z_][A-Za-z_0-9]*$/.test(step) ? step : `\`${step.replace(/[\\`]/g, '\\$&')}\``))
    .join('.');
}
