/** The package `debug` loads supports-color if it is installed. Only development packages install it. */
export const NOT_BUNDLED = ['supports-color'];

/**
 * Lists the folders of the packages whose code is in an output of esbuild, as a lock file names them.
 *
 * @throws Error if one is a development package, which no program with rights in a project may contain (docs/security.md#dependencies)
 */
export function listBundled({ outputs }, lock) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  const folders = files.flatMap((file) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  const development = folders.find((folder) => lock.packages[folder].dev === true);
  if (development !== undefined) throw new Error(`the bundle would contain ${development}, a development package`);
  return [...new Set(folders)];
}
