import { TOOL_FOLDERS, installToolPackages } from './tool-packages';

/** Installs the packages of every tool folder. */

void (async () => {
  for (const folder of TOOL_FOLDERS) await installToolPackages(folder);
})().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
