import { runProgram } from './programs';

/** Runs Redocly's command. @returns its output @throws the error of `execFile`, with that output, if it finds anything */
export async function runRedocly(args: readonly string[]): Promise<string> {
  // It would otherwise ask the registry for a newer version of itself, and report its use.
  const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  return (await runProgram(process.execPath, ['node_modules/@redocly/cli/bin/cli.js', ...args], { env })).stdout;
}
