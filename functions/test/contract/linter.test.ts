import { runProgramSync } from '../../../dev/run/programs';

/** Checks docs/openapi.json with Redocly's linter. contract.yml checks that clients can be generated from it. */

interface Report {
  problems: object[];
}

test('except for the missing licence, the linter finds no problem in docs/openapi.json, and each example of a body fits its schema', () => {
  // Without these variables, the linter asks the registry for a newer version of itself and reports its use.
  const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const command = ['node_modules/@redocly/cli/bin/cli.js', 'lint', 'docs/openapi.json', '--format', 'json'];
  // Skips this rule, because the description grants no licence.
  command.push('--skip-rule', 'info-license');
  const { stdout } = runProgramSync(process.execPath, command, { env });
  const { problems } = JSON.parse(stdout) as Report;
  expect(problems).toEqual([]);
});
