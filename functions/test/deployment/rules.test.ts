import { readFileSync } from 'node:fs';
import firebase from '../../../firebase.json';
import { parseDeniedPaths } from './rules';

/** firestore.rules itself, as firebase.json deploys it. */
const rules = readFileSync(firebase.firestore.rules, 'utf8');

test('the deployed rules reject every client, for every document of every database', () => {
  expect(parseDeniedPaths(rules)).toEqual([
    '/databases/{database}/documents',
    '/databases/{database}/documents/{document=**}',
  ]);
});

test('rules without any rule reject every client', () => {
  expect(parseDeniedPaths("rules_version = '2'; service cloud.firestore {}")).toEqual([]);
});

test.each([
  ['a condition that is true', 'if false', 'if true'],
  ['a condition on who asks', 'if false', 'if request.auth != null'],
  ['a condition after false', 'if false', 'if false || true'],
  ['false called by another name', 'if false', 'if denied()'],
  ['no condition', ': if false', ''],
  ['another rule besides the one that rejects', 'if false;', 'if false; allow get: if true;'],
  ['a rule hidden behind a comment', 'if false;', 'if false; /* // */ allow get;'],
  ['another match', 'match /{document=**} {', 'match /teams/{team} { allow read; } match /{document=**} {'],
  ['a function', 'match /{document=**}', 'function denied() { return true; } match /{document=**}'],
  ['an unknown method', 'allow read', 'allow everything'],
  ['another language', "'2'", "'1'"],
  ['an end that is not there', /\}\s*$/, ''],
  ['something after the end', /\}\s*$/, '} service cloud.firestore {}'],
  ['another service', 'cloud.firestore', 'firebase.storage'],
])('rules are not taken for closed with %s', (_, found, instead) => {
  const opened = rules.replace(found, instead);
  expect(opened).not.toBe(rules);
  expect(() => parseDeniedPaths(opened)).toThrow();
});
