import { randomUUID } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CommandError } from './errors';
import { quote } from './text';

/**
 * Writes a file that does not exist yet. The file gets its name when it is complete, so an incomplete file never looks
 * complete, and you can repeat the command after an error.
 *
 * @throws CommandError if the file exists or cannot be written; an error of `content`
 */
export async function writeNewFile(file: string, content: AsyncIterable<string> | Iterable<string>): Promise<void> {
  if (existsSync(file)) throw new CommandError(describe(file, ALREADY_EXISTS));
  const unfinished = join(dirname(file), `price-lists-${randomUUID()}.unfinished`);
  // The flag x follows no link and opens no existing file.
  const stream = createWriteStream(unfinished, { flags: 'wx', flush: true });
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  try {
    await pipeline(content, stream);
    // Unlike a rename, a link replaces no file that another program has made since.
    await link(unfinished, file);
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const isFolderMissing = code === 'ENOENT' && !existsSync(dirname(file));
    const reason = code === 'EEXIST' ? ALREADY_EXISTS : message;
    throw new CommandError(describe(file, isFolderMissing ? 'its folder does not exist' : reason));
  } finally {
    // After an error of the content, the stream may still be opening the file.
    await closed;
    await rm(unfinished, { force: true }).catch(() => undefined);
  }
}

const ALREADY_EXISTS = 'the file already exists';

const describe = (file: string, reason: string): string =>
  `${quote(file)} cannot be written: ${reason}. Correct this, or name another file.`;
