import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { ID_TYPES } from '../audit/stored-records';
import { keyRecordSchema } from '../src/lib/schemas/key-record';
import { auditRecords, type AuditCommandOptions } from './commands/audit';
import type { CommandContext } from './commands/context';
import { list, type ListOptions } from './commands/list';
import { releaseKey, type ReleaseOptions } from './commands/release';
import { resumeKeys, type ResumeOptions } from './commands/resume';
import { show, type ShowOptions } from './commands/show';
import { sweepKeys, type SweepCommandOptions } from './commands/sweep';
import type { TargetOptions } from './target';
import type { Terminal } from './terminal';
import { formatNumber, quoteForShell } from './text';

/** The commands of `npx price-lists`, their arguments and their help. */

/** Runs a command. @returns exit code */
type Run = (context: CommandContext) => Promise<number>;

export interface ParsedCommand {
  kind: 'command';
  run: Run;
  targetOptions: TargetOptions;
}

export type ParsedArguments = ParsedCommand | { kind: 'ended'; exitCode: 0 | 2 };

/**
 * Parses the arguments of `npx price-lists`. Prints the requested help, or a usage error.
 *
 * @param environment holds the options that npm took for itself under `npm run price-lists`
 */
export function parseArguments(
  args: readonly string[],
  terminal: Pick<Terminal, 'print' | 'printError'>,
  environment: NodeJS.ProcessEnv,
): ParsedArguments {
  let run: Run | undefined;
  const program = createProgram(terminal, (parsed) => (run = parsed));
  const taken = findOptionsTakenByNpm(program, args, environment);
  if (taken.length > 0) {
    terminal.printError(describeOptionsTakenByNpm(taken, args));
    return { kind: 'ended', exitCode: 2 };
  }
  try {
    program.parse(args.length === 0 ? ['--help'] : args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: 'ended', exitCode: error.exitCode === 0 ? 0 : 2 };
  }
  // Without an error, the parser always returns a command.
  if (run === undefined) return { kind: 'ended', exitCode: 2 };
  const { project, database } = program.opts<{ project?: string; database?: string }>();
  return { kind: 'command', run, targetOptions: { project, database } };
}

/** The commands that write, and the options that do not affect what they write. */
const WRITING_COMMANDS: readonly string[] = ['resume', 'release', 'sweep'];
const HARMLESS_OPTIONS: readonly string[] = ['--json', '--yes'];

/**
 * `npm run` takes options before `--` for itself and passes them as `npm_config_…`, where they look like settings of npm.
 * Without these options, a command might write more than the operator asked for.
 *
 * @returns the options that affect what the command writes
 */
function findOptionsTakenByNpm(program: Command, args: readonly string[], environment: NodeJS.ProcessEnv): string[] {
  if (environment['npm_lifecycle_event'] !== 'price-lists') return [];
  const writing = program.commands.filter(
    (command) => WRITING_COMMANDS.includes(command.name()) && args.includes(command.name()),
  );
  if (writing.length === 0) return [];
  const options = [program, ...writing].flatMap((command) => command.options);
  const taken = options.flatMap(({ long, flags, required }) => {
    const name = long ?? flags;
    const value = environment[`npm_config_${name.slice(2).replaceAll('-', '_')}`] ?? '';
    const isGiven = args.some((arg) => arg === name || arg.startsWith(`${name}=`));
    if (HARMLESS_OPTIONS.includes(name) || isGiven || value === '' || value === 'false') return [];
    // Without an equals sign npm leaves the value among the arguments.
    if (value === 'true') return [required ? flags : name];
    return [`${name}=${quoteForShell(value)}`];
  });
  return [...new Set(taken)];
}

const describeOptionsTakenByNpm = (taken: readonly string[], args: readonly string[]): string =>
  `npm has ${taken.join(' and ')} for itself, from this line or from its own settings, so nothing was done. ` +
  `npx passes every option on:\n\n    npx price-lists ${[...args.map(quoteForShell), ...taken].join(' ')}\n`;

function createProgram(terminal: Pick<Terminal, 'print' | 'printError'>, onCommand: (run: Run) => void): Command {
  const program = new Command('npx price-lists')
    .description('Looks after the keys of add price lists: see docs/runbook.md.')
    .option('--project <id>', 'the project; by default that of the environment, or of .firebaserc')
    .option('--database <id>', 'the Firestore database; by default that of DATABASE_ID, or (default)')
    .addHelpText('after', PROJECT_HELP)
    .configureOutput({
      writeOut: (text) => terminal.print(text),
      writeErr: (text) => terminal.printError(text),
    })
    .configureHelp({ showGlobalOptions: true })
    // The whole help would push the error off a small terminal.
    .showHelpAfterError('(add --help to see how it is used)')
    .exitOverride();
  addReadingCommands(program, onCommand);
  addResolvingCommands(program, onCommand);
  addCommandsOfAllKeys(program, onCommand);
  return program;
}

const PROJECT_HELP = `
A project whose id begins with demo- is looked for at FIRESTORE_EMULATOR_HOST,
or at 127.0.0.1:8080. Any other is in production, with the application-default
credentials, unless FIRESTORE_EMULATOR_HOST is set. An id that begins with a
hyphen follows two of them: npx price-lists show -- -id

The options of a command: npx price-lists list --help`;

const ID_HELP = 'a boq_list_id, or any id of a response or a log line';

function addReadingCommands(program: Command, onCommand: (run: Run) => void): void {
  program
    .command('list')
    .description('List the keys that need an operator or wait for the sweep, oldest first.')
    .addOption(
      new Option('--status <status...>', 'list the keys with this status instead').choices(
        keyRecordSchema.shape.status.options,
      ),
    )
    .option('--older-than <time>', 'leave out what is younger, such as 30m', parseDuration)
    .addOption(jsonOption())
    .addHelpText('after', exitCodes('the keys are listed, or there are none', 'they could not be read'))
    .action((options: ListOptions) => onCommand((context) => list(options, context)));

  program
    .command('show')
    .description('Show one key: its state, what is written, its payload and its history.')
    .argument('<id>', ID_HELP)
    .addOption(idTypeOption())
    .addOption(
      new Option('--payload <file>', 'write the accepted payload to a new file; - for standard output').conflicts(
        'json',
      ),
    )
    .addOption(jsonOption())
    .addHelpText('after', exitCodes('the key is shown', 'there is none, or it could not be read'))
    .action((id: string, options: ShowOptions) => onCommand((context) => show(id, options, context)));
}

function addResolvingCommands(program: Command, onCommand: (run: Run) => void): void {
  program
    .command('resume')
    .description('Complete the lists of keys from their stored payloads. May be stopped and repeated.')
    .argument('<id...>', `of one key or several, each ${ID_HELP}`)
    .addOption(idTypeOption())
    .addOption(reasonOption())
    .addOption(byOption())
    .addOption(yesOption())
    .addOption(jsonOption())
    .addHelpText('after', exitCodes('all lists are ready', 'at least one key was not resumed'))
    .action((ids: string[], options: ResumeOptions) => onCommand((context) => resumeKeys(ids, options, context)));

  program
    .command('release')
    .description('Give up the attempt of a key, and free the key. Cannot be undone.')
    .argument('<id>', ID_HELP)
    .addOption(idTypeOption())
    .addOption(reasonOption().makeOptionMandatory())
    .addOption(byOption())
    .addOption(yesOption())
    .addOption(jsonOption())
    .addHelpText('after', exitCodes('the key is free', 'it was not released'))
    .action((id: string, options: ReleaseOptions) => onCommand((context) => releaseKey(id, options, context)));
}

const FORMER_SWEEP_OPTIONS = {
  '--watch': 'sweepPriceLists runs every minute; in its place, run this by a line of cron.',
  '--left': '`list` prints the keys that require review, each with its reason.',
  '--max-attempts': '`resume` resumes a key as often as a person decides.',
};

function addCommandsOfAllKeys(program: Command, onCommand: (run: Run) => void): void {
  const sweep = program
    .command('sweep')
    .description('Resume what crashed, or failed for a transient cause. May run beside other sweeps and operators.')
    .option('--dry-run', 'only print what would be done')
    .option(
      '--all',
      'look at every unresolved key, once after an upgrade: those of an older version are not found as due',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      exitCodes('the sweep is over, whatever became of each key', 'it was stopped, or the keys could not be read'),
    )
    .action((options: SweepCommandOptions) => onCommand((context) => sweepKeys(options, context)));
  // For each option of an earlier version, the error names its replacement.
  for (const [name, instead] of Object.entries(FORMER_SWEEP_OPTIONS)) {
    const refuse = () => sweep.error(`error: ${name} is gone: ${instead}`);
    sweep.addOption(new Option(`${name} [value]`).hideHelp()).on(`option:${name.slice(2)}`, refuse);
  }

  program
    .command('audit')
    .description('Check that everything stored is as it should be. Writes nothing, and may run at any time.')
    .option('--sample <number>', 'compare so many entries of each list with its payload', parseSampleSize, 10)
    .addOption(new Option('--full', 'compare all entries').conflicts('sample'))
    .addOption(jsonOption())
    .addHelpText('after', exitCodes('nothing is wrong', 'there are violations, or the records could not be read'))
    .action((options: AuditCommandOptions) => onCommand((context) => auditRecords(options, context)));
}

const idTypeOption = () =>
  new Option('--id-type <type>', 'what the id is, where it leads to several keys').choices(ID_TYPES);
const jsonOption = () => new Option('--json', 'print JSON, for programs');
const yesOption = () => new Option('--yes', 'do not ask before anything is written');
const byOption = () =>
  new Option('--by <name>', 'who decides, if not the user of this machine').argParser(parseRemark(100));
const reasonOption = () => new Option('--reason <text>', 'kept with the key').argParser(parseRemark(1_000));

const exitCodes = (success: string, failure: string): string =>
  `\nExit codes:\n  0  ${success}\n  1  ${failure}\n  2  the command is not used as described here\n`;

/** Parses an operator's reason or name, which the key record stores with the decision. */
const parseRemark =
  (maxLength: number) =>
  (text: string): string => {
    if (text.trim() === '') throw new InvalidArgumentError('It is empty.');
    if (text.length > maxLength) {
      throw new InvalidArgumentError(`It has more than ${formatNumber(maxLength)} characters.`);
    }
    return text;
  };

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @returns ms */
function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('Expected a number of s, m, h or d, such as 30m.');
  return Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

function parseSampleSize(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Expected a number from 0 to 999999.');
  return Number(text);
}
