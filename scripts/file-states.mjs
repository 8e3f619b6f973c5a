import { statSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { threadId } from 'node:worker_threads';

/**
 * What a build read and wrote, recorded in a file of JSON, so that the next one can be left out while nothing has changed.
 */

/** Whether every file that a build read or wrote is as that build left it. */
export async function isCurrent(record) {
  const states = await readFile(record, 'utf8').then(JSON.parse, () => ({}));
  const files = Object.entries(states);
  return files.length > 0 && files.every(([file, state]) => getFileState(file) === state);
}

/** Records nothing if a file was changed while it was built: the build may have read it before. */
export async function recordBuild(record, startedAt, inputs, outputs) {
  const isStable = inputs.every((file) => statSync(file).ctimeMs < startedAt);
  const files = isStable ? [...inputs, ...outputs] : [];
  const states = Object.fromEntries(files.map((file) => [file, getFileState(file)]));
  await mkdir(dirname(record), { recursive: true });
  await replaceFile(record, `${JSON.stringify(states, null, 2)}\n`, dirname(record));
}

/** The time of the last change of its content or name tells files apart that npm unpacks, which all have one modification time. */
function getFileState(file) {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && `${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}

/**
 * Replaces a file atomically, because a starting process may be reading it.
 *
 * @param folder where it is written until it is complete
 */
export async function replaceFile(path, contents, folder) {
  const unfinished = `${folder}/.${process.pid}-${threadId}.unfinished`;
  await writeFile(unfinished, contents);
  await rename(unfinished, path);
}
