import { readFileSync } from 'node:fs';
import type { IndexDefinitions } from '../../../packages/firestore-local/src';

export const readDeclaredIndexes = () => JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
