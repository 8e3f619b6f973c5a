import { SqliteStorage } from './sqlite-storage';

/** The data folder that stands for none: documents are kept in memory. */
export const IN_MEMORY = ':memory:';

/**
 * Opens a data folder and closes it again, so that a program can refuse it before it starts anything else.
 *
 * @throws Error with a message for the user: the folder is in use, damaged or of another version
 */
export function assertDataFolder(dataDir: string): void {
  if (dataDir !== IN_MEMORY) SqliteStorage.open(dataDir).close();
}
