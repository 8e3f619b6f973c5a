import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import type { DeployableFunction } from './functions-server';

/**
 * Loads a folder of CommonJS files and returns the functions that it exports.
 *
 * Compiles the folder's own files here instead of requiring them, because tsx hooks `require` and would transform every file
 * first, which takes seven times as long. Packages are required as usual.
 *
 * @param folder with a package.json whose `main` is the entry file, or an index.cjs
 */
export function loadFunctions(folder: string): Record<string, DeployableFunction> {
  const modules = new Map<string, { exports: unknown }>();
  const load = (file: string): unknown => {
    const loaded = modules.get(file);
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {} as unknown };
    modules.set(file, module);
    const requirePackage = createRequire(file);
    const require = (id: string): unknown =>
      /^\.{1,2}\/.*\.c?js$/.test(id) ? load(resolve(dirname(file), id)) : requirePackage(id);
    Object.assign(require, { resolve: requirePackage.resolve, cache: requirePackage.cache });
    const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
    const run = compileFunction(readFileSync(file, 'utf8'), parameters, { filename: file }) as (
      ...values: unknown[]
    ) => void;
    run(module.exports, require, module, file, dirname(file));
    return module.exports;
  };
  const root = resolve(folder);
  return load(createRequire(resolve(root, 'package.json')).resolve(root)) as Record<string, DeployableFunction>;
}
