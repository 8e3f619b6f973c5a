import { Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { OUTCOMES } from '../../functions/src/lib/market-facts';
import { FAILURE_CAUSES, KEY_STATUSES } from '../../functions/src/lib/schemas/key-record';
import { auditRecords, type AuditCommandOptions } from './commands/audit';
import type { CommandContext } from './commands/context';
import { list, type ListOptions } from './commands/list';
import { report, type ReportOptions } from './commands/report';
import { releaseKey, type ReleaseOptions } from './commands/release';
import { resumeKeys, type ResumeOptions } from './commands/resume';
import { show, type ShowOptions } from './commands/show';
import { sweepKeys, type SweepCommandOptions } from './commands/sweep';
import type { Terminal } from './terminal';
import { getProgram } from './text';

/** The commands of `npx --no -- price-lists`, their arguments and their help. */

/** Connects to the target of the command, and calls `run`, which returns the exit code. */
export type Act = (run: (context: CommandContext) => Promise<number>) => Promise<void>;

/** If no command runs, the parser prints the help or an error, and throws a CommanderError. */
export function createProgram(terminal: Terminal, act: Act): Command {
  const program = new Command(getProgram())
    .description('Inspect and resolve the keys of add price lists. docs/runbook.md explains when.')
    .option(
      '--project <id>',
      'the project (default: GOOGLE_CLOUD_PROJECT, GCLOUD_PROJECT, or the default of .firebaserc)',
      parseText,
    )
    .option('--database <id>', 'the Firestore database (default: DATABASE_ID, or "(default)")', parseText)
    .addHelpText('after', createProjectHelp())
    .configureOutput({
      writeOut: (text) => terminal.print(text),
      writeErr: (text) => terminal.printError(text),
    })
    .configureHelp({ showGlobalOptions: true })
    // On a small terminal, the whole help would hide the error.
    .showHelpAfterError('(Add --help to see the usage.)')
    .exitOverride();
  addReadingCommands(program, act);
  addResolvingCommands(program, act);
  addCommandsOfAllKeys(program, act);
  return program;
}

const createProjectHelp = () => `
The command connects to the Firestore at FIRESTORE_EMULATOR_HOST, if that is
set. Otherwise it connects to 127.0.0.1:8080 if the id of the project begins
with demo-, and to production if not. For production, sign in with
gcloud auth application-default login.

Put -- before an id that begins with a hyphen: ${getProgram()} show -- -id
Help for one command: ${getProgram()} list --help

Exit codes:
  0  done
  1  failed, or the audit found a violation
  2  the arguments are wrong`;

const FILE_HELP = 'a new file, or to standard output if the file is -';

const BY_HELP = 'your name, which is stored with the key (default: your user name on this machine)';
const REASON_HELP = 'the reason for your decision, which is stored with the key';
const ID_HELP = 'a boq_list_id or its hash, a document_id, a request_id, the id of a list, or the path of a record';

function addReadingCommands(program: Command, act: Act): void {
  program
    .command('list')
    .description('List the keys that need an operator or wait for the sweep, oldest first.')
    .addOption(new Option('--status <status...>', 'list the keys with these statuses instead').choices(KEY_STATUSES))
    .option('--limit <number>', 'how many keys to print (--json prints all)', parseLimit, 20)
    .option('--json', 'print JSON')
    .action((options: ListOptions) => act((context) => list(options, context)));

  program
    .command('show')
    .description('Show one key: its status, its lists, its payload, its actions, and what you can do next.')
    .argument('<id>', ID_HELP)
    .addOption(new Option('--payload <file>', `write the accepted payload to ${FILE_HELP}`).conflicts('json'))
    .addOption(
      new Option('--prices <file>', `write all stored prices as CSV to ${FILE_HELP}`).conflicts(['json', 'payload']),
    )
    .option('--json', 'print JSON')
    .action((id: string, options: ShowOptions) => act((context) => show(id, options, context)));

  program
    .command('report')
    .description(
      'Print one row for each accepted request, newest first. Costs up to two document reads for each request of the chosen dates, even if other options leave it out.',
    )
    .option('--from <date>', 'only requests from this date on, as YYYY-MM-DD in UTC', parseDate)
    .option('--to <date>', 'only requests before this date', parseDate)
    .option('--market <id>', 'only requests for this market_id')
    .option('--sender <name>', 'only requests with the API key of this name')
    .addOption(new Option('--status <status...>', 'only requests with these statuses').choices(KEY_STATUSES))
    .addOption(new Option('--outcome <outcome...>', 'only completed requests with these outcomes').choices(OUTCOMES))
    .addOption(new Option('--csv', 'print CSV for a spreadsheet').conflicts('json'))
    .option('--json', 'print one JSON object in each line')
    .action((options: ReportOptions) => act((context) => report(options, context)));
}

function addResolvingCommands(program: Command, act: Act): void {
  program
    .command('resume')
    .description('Complete the lists of one or more keys from their stored payloads. You can stop and repeat a resume.')
    .argument('[id...]', ID_HELP)
    .addOption(
      new Option(
        '--cause <cause>',
        'resume all keys whose attempt failed for this cause (for lease_expired, also those whose lease has expired)',
      ).choices(FAILURE_CAUSES),
    )
    .option('--dry-run', 'print which keys would be resumed, and write nothing')
    .option('--reason <text>', REASON_HELP, parseText)
    .option('--by <name>', BY_HELP, parseText)
    .option('--yes', 'write without asking first')
    .option('--json', 'print JSON')
    .action((ids: string[], options: ResumeOptions, command: Command) => {
      if (ids.length > 0 === (options.cause !== undefined)) command.error('error: name either ids or --cause');
      return act((context) => resumeKeys(ids, options, context));
    });

  program
    .command('release')
    .description('End the attempt of a key, so that the client can send a new request. You cannot undo this.')
    .argument('<id>', ID_HELP)
    .requiredOption('--reason <text>', REASON_HELP, parseText)
    .option('--by <name>', BY_HELP, parseText)
    .option('--yes', 'write without asking first')
    .option('--json', 'print JSON')
    .action((id: string, options: ReleaseOptions) => act((context) => releaseKey(id, options, context)));
}

function addCommandsOfAllKeys(program: Command, act: Act): void {
  program
    .command('sweep')
    .description(
      'Resume the attempt of each key that is due, or report that the key needs an operator. Other sweeps and operators can act at the same time.',
    )
    .option('--dry-run', 'print what the sweep would do, and write nothing')
    .option('--json', 'print JSON')
    .action((options: SweepCommandOptions) => act((context) => sweepKeys(options, context)));

  program
    .command('audit')
    .description('Check the stored records of add price lists. Writes nothing, and can run at any time.')
    .option('--sample <number>', 'how many entries of each list to compare with the payload', parseSampleSize, 10)
    .addOption(new Option('--full', 'compare all entries').conflicts('sample'))
    .option('--json', 'print JSON')
    .action((options: AuditCommandOptions) => act((context) => auditRecords(options, context)));
}

/** Parses a text that must not be blank. Without this check, an unset variable in `--project "$project"` could choose another project. */
function parseText(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('The text is blank.');
  return text;
}

/** @returns midnight UTC of the date, in Unix milliseconds */
function parseDate(text: string): number {
  // `Date.parse` takes 30 February for a day in March.
  if (!z.iso.date().safeParse(text).success) throw new InvalidArgumentError('Expected a date, such as 2026-12-01.');
  return Date.parse(text);
}

const parseLimit = (text: string): number => parseWholeNumber(text, 1);
const parseSampleSize = (text: string): number => parseWholeNumber(text, 0);

function parseWholeNumber(text: string, least: number): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) < least)
    throw new InvalidArgumentError(`Expected a whole number from ${least} to 999999.`);
  return Number(text);
}
