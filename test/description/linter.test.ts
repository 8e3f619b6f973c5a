import { runRedocly } from '../support/redocly';

/** docs/openapi.json by a linter of others. Clients that are generated of it: openapi-fetch.ts, run-clients.ts. */

interface Report {
  problems: object[];
}

test('docs/openapi.json has no finding of a linter, which compares every example with its schema too', async () => {
  const { problems } = JSON.parse(await runRedocly(['lint', 'docs/openapi.json', '--format', 'json'])) as Report;
  expect(problems).toEqual([]);
});
