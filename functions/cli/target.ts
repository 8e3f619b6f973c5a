import { readFileSync } from 'node:fs';
import { CommandError } from './errors';

/** Which database a command works with. */
export interface Target {
  project: string;
  /** Address of a local Firestore; undefined in production. */
  address: string | undefined;
  /** Whether the address is that of FIRESTORE_EMULATOR_HOST. */
  isAddressGiven: boolean;
}

const LOCAL_ADDRESS = '127.0.0.1:8080';

/** A project whose id begins with `demo-` is a local one, by Firebase's convention. */
export function resolveTarget(givenProject: string | undefined): Target {
  const { GOOGLE_CLOUD_PROJECT, GCLOUD_PROJECT } = process.env;
  const project = givenProject ?? GOOGLE_CLOUD_PROJECT ?? GCLOUD_PROJECT ?? readDefaultProject();
  // An empty value means unset, as in the Firestore SDK.
  const given = process.env['FIRESTORE_EMULATOR_HOST'] === '' ? undefined : process.env['FIRESTORE_EMULATOR_HOST'];
  const address = given ?? (project.startsWith('demo-') ? LOCAL_ADDRESS : undefined);
  return { project, address, isAddressGiven: given !== undefined };
}

/** Sets the environment by which Google's libraries and functions/src find the target. */
export function useTarget({ project, address }: Target): void {
  process.env['GOOGLE_CLOUD_PROJECT'] = project;
  if (address === undefined) {
    delete process.env['FIRESTORE_EMULATOR_HOST'];
    return;
  }
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  // gRPC would use the proxy of http_proxy, which cannot reach this machine.
  process.env['no_grpc_proxy'] = parseAddress(address).host;
  // Without this, Google's libraries look for a metadata server.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
}

export const describeTarget = ({ project, address }: Target): string =>
  `Project ${project}, ${address === undefined ? 'in production' : `at ${address}`}`;

/** @throws CommandError */
export function parseAddress(address: string): { host: string; port: number } {
  // A scheme without a default port, so that every port is kept.
  const url = URL.canParse(`grpc://${address}`) ? new URL(`grpc://${address}`) : undefined;
  if (url === undefined || url.port === '')
    throw new CommandError(`FIRESTORE_EMULATOR_HOST is not an address with a port: ${address}. Write host:port.`);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) };
}

function readDefaultProject(): string {
  const { projects } = JSON.parse(readFileSync('.firebaserc', 'utf8')) as { projects: { default: string } };
  return projects.default;
}
