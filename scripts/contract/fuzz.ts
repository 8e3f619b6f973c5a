import { parseArgs } from 'node:util';
import { runTool } from './run-tool';

/*
 * npm run contract:fuzz [-- --url URL --max-examples N --seed N]
 *
 * Schemathesis against a running service, by default that of `npm start`: all checks, with the settings in schemathesis.toml.
 */

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:5001/demo-price-lists/us-central1' },
      'max-examples': { type: 'string', default: '3000' },
      seed: { type: 'string', default: '1' },
      workers: { type: 'string', default: '2' },
    },
  });
  await runTool(
    { program: 'schemathesis', installation: 'pipx install schemathesis==4.32.5' },
    [
      ...['--config-file', 'scripts/contract/schemathesis.toml', 'run', 'docs/openapi.json', '--url', values.url],
      ...['--max-examples', values['max-examples'], '--seed', values.seed, '--workers', values.workers],
    ],
    { API_KEY: process.env['API_KEY'] ?? 'local-dev-key' },
  );
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
