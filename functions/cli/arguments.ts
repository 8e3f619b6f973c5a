import { parseArgs } from 'node:util';
import { keyRecordSchema, type KeyRecord } from '../src/lib/schemas/key-record';

/** The commands of `npm run price-lists` and their options. */

export const HELP = `npm run price-lists -- <command>

  list [--status <status>]... [--older-than 30m]   keys that require review, oldest first, and what is in progress
  show <id> [--payload <file, or ->]               one key, by its boq_list_id or any id of a response or a log line
  resume <boq_list_id>... [--reason <text>]        complete its lists from the stored payload
  release <boq_list_id> --reason <text>            give up its attempt and free the key
  sweep [--watch 30s] [--max-attempts 3] [--dry-run]
                                                   resume what crashed or failed for a cause that passes

  --project <id>   the project; by default that of the environment, or of .firebaserc
  --json           for programs
  --yes            do not ask before anything is written
  --by <name>      who decides, if not the user of this machine

A project whose id begins with demo- is looked for at FIRESTORE_EMULATOR_HOST, or at 127.0.0.1:8080; any other one in
production, with the application-default credentials, unless FIRESTORE_EMULATOR_HOST is set.
`;

const options = {
  project: { type: 'string' },
  status: { type: 'string', multiple: true },
  'older-than': { type: 'string' },
  json: { type: 'boolean' },
  payload: { type: 'string' },
  reason: { type: 'string' },
  by: { type: 'string' },
  yes: { type: 'boolean' },
  watch: { type: 'string' },
  'max-attempts': { type: 'string' },
  'dry-run': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The options of each command, besides {@link COMMON_OPTIONS}, and how many keys it takes. */
const COMMANDS = {
  list: { options: ['status', 'older-than', 'json'], keys: 'none' },
  show: { options: ['payload', 'json'], keys: 'one' },
  resume: { options: ['reason', 'by', 'yes', 'json'], keys: 'several' },
  release: { options: ['reason', 'by', 'yes', 'json'], keys: 'one' },
  sweep: { options: ['watch', 'max-attempts', 'dry-run', 'json'], keys: 'none' },
} as const;

const COMMON_OPTIONS = ['project', 'help'];

export type Command = keyof typeof COMMANDS;
export type Options = ReturnType<typeof parseOptions>['values'];

/** The arguments are not a command. */
export class UsageError extends Error {}

/** @throws UsageError */
export function parseCommand(args: string[]): { command: Command | undefined; keys: string[]; values: Options } {
  const { values, positionals } = parseOptions(args);
  const [command, ...keys] = positionals;
  if (values.help === true || command === undefined) return { command: undefined, keys, values };
  if (!isCommand(command)) throw new UsageError(`"${command}" is not a command.`);
  assertKeys(command, keys);
  const allowed: readonly string[] = [...COMMANDS[command].options, ...COMMON_OPTIONS];
  const unknownOption = Object.keys(values).find((option) => !allowed.includes(option));
  if (unknownOption !== undefined) throw new UsageError(`--${unknownOption} does not go with ${command}.`);
  return { command, keys, values };
}

function parseOptions(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The options could not be read.');
  }
}

const isCommand = (word: string): word is Command => Object.hasOwn(COMMANDS, word);

function assertKeys(command: Command, keys: readonly string[]): void {
  const allowed = COMMANDS[command].keys;
  if (allowed === 'none') {
    if (keys.length > 0) throw new UsageError(`${command} takes no key.`);
    return;
  }
  if (keys.length === 0 || keys.includes('')) {
    throw new UsageError(`${command} needs the boq_list_id of a price list.`);
  }
  if (allowed === 'one' && keys.length > 1) {
    throw new UsageError(`${command} takes one boq_list_id; quote one that holds spaces.`);
  }
}

const STATUSES = keyRecordSchema.shape.status.options;

/** @throws UsageError */
export function parseStatuses(given: string[] | undefined): KeyRecord['status'][] | undefined {
  return given?.map((text) => {
    const status = STATUSES.find((known) => known === text);
    if (status === undefined) throw new UsageError(`--status is one of ${STATUSES.join(', ')}, not "${text}".`);
    return status;
  });
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @returns ms @throws UsageError */
export function parseDuration(option: 'older-than' | 'watch', text: string): number {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (amount === undefined) {
    throw new UsageError(`--${option} is a number of s, m, h or d, such as 30m, not "${text}".`);
  }
  return Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

/** @throws UsageError */
export function parseMaxAttempts(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new UsageError(`--max-attempts is a number from 1 to 99, not "${text}".`);
  return Number(text);
}
