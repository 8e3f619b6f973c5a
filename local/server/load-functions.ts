import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type { DeployableFunction } from './functions-server';

/**
 * Loads a package and returns the functions that it exports.
 *
 * @param folder with a package.json whose `main` is the entry file, or the entry file
 */
export function loadFunctions(folder: string): Record<string, DeployableFunction> {
  const require = createRequire(resolve('package.json'));
  const entry = require.resolve(resolve(folder));
  // A file that was built again is loaded again.
  Reflect.deleteProperty(require.cache, entry);
  return require(entry) as Record<string, DeployableFunction>;
}
