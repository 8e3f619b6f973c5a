import { randomUUID } from 'node:crypto';
import { cleanUp, startLocalServer } from '../support/local-server';
import { runProgram } from '../support/programs';

/** The flows of docs/flows.arazzo.yaml against `npm start`, by Redocly's runner of Arazzo descriptions. */

afterAll(cleanUp);

const RUNNER = 'node_modules/@redocly/cli/bin/cli.js';

test('every step of every flow responds as it is described', async () => {
  const service = await startLocalServer({ API_KEY: 'local-dev-key', SAMPLE_DATA: 'true' });
  const baseUrl = service.address('');
  const inputs = {
    apiKey: 'local-dev-key',
    boqListId: `flow-${randomUUID()}`,
    marketId: 'mkt-ken',
    teamId: 'team-east-africa',
  };

  const report = await runFlows('docs/flows.arazzo.yaml', baseUrl.replace(/\/$/, ''), inputs);

  expect(report).toMatch(/Workflows: 5 passed, 5 total/);
  expect(report).toMatch(/Steps: 12 passed, 12 total/);
});

/** @returns the output of the runner @throws if a check of a step fails, with that output */
async function runFlows(file: string, server: string, inputs: Record<string, string>): Promise<string> {
  const values = Object.entries(inputs).flatMap(([name, value]) => ['--input', `${name}=${value}`]);
  const args = [RUNNER, 'respect', file, '--server', `service=${server}`, ...values];
  // The runner would otherwise ask the registry for a newer version of itself, and report its use.
  const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  return (await runProgram(process.execPath, args, { env })).stdout;
}
