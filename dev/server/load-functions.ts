import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type { DeployableFunction } from './functions-server';

/**
 * Loads the functions that a package exports.
 *
 * @param from a folder with a package.json whose `main` is the entry file, or the entry file
 */
export const loadFunctions = (from: string): Record<string, DeployableFunction> => ({
  ...(createRequire(resolve('package.json'))(resolve(from)) as Record<string, DeployableFunction>),
});
