import { parseArgs } from 'node:util';

/**
 * Parses the arguments of a program. `--help` prints the usage and ends the program with exit code 0. An argument that the
 * program does not accept ends the program with exit code 64.
 *
 * @param usage printed for `--help`, and after the message about a wrong argument
 * @param config the configuration of `parseArgs` in node:util, without `help`
 */
export function readArguments(usage, config = {}) {
  endWithOutput();
  try {
    const { values, positionals } = parseArgs({ ...config, options: { ...config.options, help: { type: 'boolean' } } });
    if (values.help !== true) return { values, positionals };
  } catch (error) {
    refuseArguments(error.message, usage);
  }
  console.log(usage);
  process.exit(0);
}

/** Prints a message about wrong arguments, then the usage, and ends the program with exit code 64. */
export function refuseArguments(message, usage) {
  console.error(`${message}\n\n${usage}`);
  process.exit(64);
}

/**
 * Makes the program print only the message of an uncaught error, without the stack, and end with exit code 1. For programs that
 * read files or answers from outside, which the person who starts the program can correct.
 */
export function endWithMessage() {
  process.once('uncaughtException', (error) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  });
}

/** Ends the program when its output is closed, as by `| head`, or cannot be written. Otherwise Node would print a stack trace. */
function endWithOutput() {
  for (const output of [process.stdout, process.stderr]) output.on('error', () => process.exit(1));
}
