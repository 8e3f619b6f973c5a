import { readFileSync } from 'node:fs';
import firebase from '../../../firebase.json';

/** The rules that firebase.json deploys: so few that the whole text is compared. */

test('the deployed rules reject every client, for every document of every database', () => {
  const rules = readFileSync(firebase.firestore.rules, 'utf8').replaceAll(/^ *\/\/.*$/gm, '');
  expect(rules.trim().split(/\s+/).join(' ')).toBe(
    [
      "rules_version = '2';",
      'service cloud.firestore {',
      'match /databases/{database}/documents {',
      'match /{document=**} {',
      'allow read, write: if false;',
      '} } }',
    ].join(' '),
  );
});
