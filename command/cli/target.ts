import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { DEFAULT_DATABASE_ID } from '../../functions/src/lib/config';
import { removeGoogleVariables } from '../../functions/src/lib/google-variables';
import { CommandError } from './errors';
import { parseOutsideJson } from './outside-json';

export interface Target {
  project: string;
  database: string;
  /** Address of a local Firestore; undefined in production. */
  address: string | undefined;
}

/** The options that name the target of a command, which repeats them in the commands that it prints. */
export interface TargetOptions {
  project?: string;
  database?: string;
}

const LOCAL_ADDRESS = '127.0.0.1:8080';

/** A project whose id begins with `demo-` is a local one, by Firebase's convention. */
export function resolveTarget(options: TargetOptions): Target {
  const named = options.project ?? getVariable('GOOGLE_CLOUD_PROJECT') ?? getVariable('GCLOUD_PROJECT');
  const project = named ?? readDefaultProject();
  const database = options.database ?? getVariable('DATABASE_ID') ?? DEFAULT_DATABASE_ID;
  const local = project.startsWith('demo-') ? LOCAL_ADDRESS : undefined;
  return { project, database, address: getVariable('FIRESTORE_EMULATOR_HOST') ?? local };
}

/** Returns a variable of the environment; undefined if it is unset or empty. */
const getVariable = (name: string) => (process.env[name] === '' ? undefined : process.env[name]);

/** Sets the environment variables by which Google's libraries and functions/src find the target. */
export function useTarget({ project, database, address }: Target): void {
  removeGoogleVariables();
  process.env['GOOGLE_CLOUD_PROJECT'] = project;
  process.env['DATABASE_ID'] = database;
  if (address === undefined) {
    delete process.env['FIRESTORE_EMULATOR_HOST'];
    return;
  }
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  // Otherwise gRPC would use a proxy that the environment names, which may not reach this address.
  process.env['no_grpc_proxy'] = parseHost(address);
  // Otherwise Google's libraries would look for a metadata server.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
}

export const describeTarget = ({ project, database, address }: Target): string => {
  const named = database === DEFAULT_DATABASE_ID ? `Project ${project}` : `Project ${project}, database ${database}`;
  return `${named}, ${address === undefined ? 'in production' : `at ${address}`}`;
};

/** @throws CommandError */
function parseHost(address: string): string {
  const [, host] = /^\[?(.+?)\]?:\d+$/.exec(address) ?? [];
  if (host === undefined) throw new CommandError(`FIRESTORE_EMULATOR_HOST is ${address}, but must be host:port.`);
  return host;
}

const firebaseSettingsSchema = z.object({ projects: z.object({ default: z.string().min(1) }) });

function readDefaultProject(): string {
  try {
    return parseOutsideJson(readFileSync('.firebaserc', 'utf8'), firebaseSettingsSchema, '.firebaserc').projects
      .default;
  } catch {
    throw new CommandError(
      'No project is set, and this folder has no .firebaserc with a default project. Pass --project <id>, or run the command in the root of the clone.',
    );
  }
}
