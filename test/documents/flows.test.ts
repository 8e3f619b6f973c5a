import { randomUUID } from 'node:crypto';
import { cleanUp, startLocalServer } from '../support/local-server';
import { runRedocly } from '../support/redocly';

/** The flows of docs/flows.arazzo.yaml against `npm start`, by Redocly's runner of Arazzo descriptions. */

afterAll(cleanUp);

test('every step of every flow responds as it is described', async () => {
  const service = await startLocalServer({ API_KEY: 'local-dev-key', SAMPLE_DATA: 'true' });
  const server = `service=${service.address('').replace(/\/$/, '')}`;
  const inputs = {
    apiKey: 'local-dev-key',
    boqListId: `flow-${randomUUID()}`,
    marketId: 'mkt-ken',
    teamId: 'team-east-africa',
  };
  const values = Object.entries(inputs).flatMap(([name, value]) => ['--input', `${name}=${value}`]);

  const report = await runRedocly(['respect', 'docs/flows.arazzo.yaml', '--server', server, ...values]);

  expect(report).toMatch(/Workflows: ([1-9]\d*) passed, \1 total/);
  expect(report).toMatch(/Steps: ([1-9]\d*) passed, \1 total/);
});
