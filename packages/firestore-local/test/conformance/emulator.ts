import { execFileSync } from 'node:child_process';

/** The version of Google's emulator that `gcloud` has installed. */
export function findEmulatorVersion(): string {
  const versions = JSON.parse(execFileSync('gcloud', ['version', '--format=json'], { encoding: 'utf8' })) as Record<
    string,
    string
  >;
  const version = versions['cloud-firestore-emulator'];
  if (version === undefined) throw new Error('gcloud has no Firestore emulator: name its version with --emulator.');
  return version;
}
