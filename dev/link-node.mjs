import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/*
 * npm's postinstall: restores node_modules/.bin/node. All packages with a Node binary share this link, and npm removes it together
 * with the packages of other platforms (https://github.com/npm/cli/issues/4362). Does nothing if none of these packages
 * runs on this machine, as on macOS, or under a package manager other than npm.
 */

const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const runs = (name) => spawnSync(`node_modules/${name}/bin/node`, ['--version']).status === 0;
const packages = Object.keys(optionalDependencies).filter(runs);

const { npm_execpath: npm, npm_config_user_agent: userAgent = '' } = process.env;
if (packages.length > 0 && userAgent.startsWith('npm/')) {
  const stdio = ['ignore', 'ignore', 'inherit'];
  process.exitCode = spawnSync(process.execPath, [npm, 'rebuild', '--ignore-scripts', ...packages], { stdio }).status;
}
