import { runProgramSync } from '../support/programs';

/** docs/openapi.json, checked by Redocly's linter. run-clients.ts calls the service by clients that are generated from it. */

interface Report {
  problems: object[];
}

test('docs/openapi.json has no finding of a linter, which compares the examples of bodies with their schemas', () => {
  // It would otherwise ask the registry for a newer version of itself, and report its use.
  const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const command = ['node_modules/@redocly/cli/bin/cli.js', 'lint', 'docs/openapi.json', '--format', 'json'];
  const { stdout } = runProgramSync(process.execPath, command, { env });
  const { problems } = JSON.parse(stdout) as Report;
  expect(problems).toEqual([]);
});
