import { cpSync, existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { temporaryFolder } from './local-server';

/** The files that `npm run build` reads, and that `npm run dev` reads before the first request. */
const COPIED = [
  'package.json',
  'tsconfig.json',
  '.nvmrc',
  'firestore.indexes.json',
  'docs/openapi.json',
  'package-lock.json',
  'functions/node-version.cjs',
  'functions/package.json',
  'functions/src',
  'command',
  'dev',
  'emulator',
];

const LINKED = ['node_modules', 'functions/node_modules'];

/** Copies {@link COPIED} to a temporary folder, so that a test can change the files. */
export function createCheckout(): string {
  const folder = temporaryFolder();
  const filter = (path: string) => basename(path) !== 'node_modules';
  for (const path of COPIED) if (existsSync(path)) cpSync(path, join(folder, path), { recursive: true, filter });
  for (const path of LINKED) if (existsSync(path)) symlinkSync(resolve(path), join(folder, path));
  return folder;
}

/** Replaces text in a file as some editors do: by writing another file and renaming that one. */
export function editFile(file: string, from: string, to: string): void {
  const text = readFileSync(file, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`);
  writeFileSync(`${file}.tmp`, text.replace(from, to));
  renameSync(`${file}.tmp`, file);
}
