import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { CommandError } from './errors';
import { quote } from './text';

/**
 * Writes a file that does not exist yet. The file gets its name when it is complete, so an incomplete file never looks
 * complete and never prevents a second try.
 *
 * @throws CommandError if the file exists or cannot be written; an error of `content`
 */
export async function writeNewFile(file: string, content: AsyncIterable<string> | Iterable<string>): Promise<void> {
  if (existsSync(file)) throw new CommandError(describe(file, 'the file already exists'));
  const unfinished = `${file}.unfinished`;
  try {
    await pipeline(content, createWriteStream(unfinished, { flush: true }));
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new CommandError(describe(file, code === 'ENOENT' ? 'its folder does not exist' : message));
  }
}

const describe = (file: string, reason: string): string =>
  `${quote(file)} cannot be written: ${reason}. Name another file.`;
