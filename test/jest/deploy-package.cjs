const { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } = require('node:fs');
const { basename } = require('node:path');

const BUILT = 'functions/dist';

/** The folder of the copies. It is in the repository, so that the package finds the Functions Framework. */
const PARENT = 'functions/.dev';

/** Copies the built package before the suites start, because another program can rebuild it while they run. */
module.exports = function copyPackage() {
  if (!existsSync(BUILT)) return;
  mkdirSync(PARENT, { recursive: true });
  const copy = mkdtempSync(`${PARENT}/package-`);
  cpSync(BUILT, copy, { recursive: true, filter: (path) => basename(path) !== 'node_modules' });
  process.env.DEPLOY_PACKAGE = copy;
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
};
