import { readdirSync, watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';

/** Time for an editor to finish writing the files of one save. */
const SETTLE_MS = 15;

/**
 * Calls `onChange` with a changed file after each save in a folder, one call at a time; saves during a call lead to one more.
 *
 * Watches each folder by itself: Node's recursive watch on Linux loses a file that an editor replaced by a rename.
 */
export function watchFolder(root: string, onChange: (file: string) => Promise<void>): { close: () => void } {
  const watchers = new Map<string, FSWatcher>();
  let changed: string | undefined;
  let isRunning = false;

  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    while (changed !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      const file = changed;
      changed = undefined;
      watchNewFolders();
      await onChange(file);
    }
    isRunning = false;
  };
  const watchNewFolders = () => {
    for (const folder of listFolders(root)) {
      if (watchers.has(folder)) continue;
      const watcher = watch(folder, (_, file) => {
        changed = join(folder, file ?? '');
        void run();
      });
      const forget = () => {
        watcher.close();
        watchers.delete(folder);
      };
      // A folder that is removed ends its watcher with an error on some systems.
      watchers.set(folder, watcher.on('error', forget));
    }
  };
  watchNewFolders();
  return {
    close: () => {
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

const listFolders = (root: string): string[] => [
  root,
  ...readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name)),
];
