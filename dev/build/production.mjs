import { isBuiltin } from 'node:module';

/** Modules that are loaded if they are installed, and what replaces them in a bundle. */
export const OPTIONAL = { 'supports-color': './dev/build/replacements/no-colors.cjs' };

/**
 * Lists the folders of the packages whose code is in an output of esbuild. The paths are those of a lock file.
 *
 * @throws Error for a development package, which no program with rights in a project may contain (docs/security.md#dependencies)
 */
export function listBundled({ outputs }, lock) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  const folders = files.flatMap((file) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  const development = folders.find((folder) => lock.packages[folder].dev === true);
  if (development !== undefined) throw new Error(`the bundle would contain ${development}, a development package`);
  return [...new Set(folders)];
}

/** @throws Error if a bundled program would load a package from a folder, with the rights of the person who runs it */
export function assertSelfContained({ outputs }) {
  const imports = Object.values(outputs).flatMap((output) => output.imports);
  const external = imports.filter(({ external, path }) => external && !isBuiltin(path));
  if (external.length > 0)
    throw new Error(`the bundle would load ${external.map(({ path }) => path).join(', ')}, instead of containing it`);
}
