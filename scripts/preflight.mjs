import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Every npm script loads this first (`node --import ./scripts/preflight.mjs …`). It stops with one sentence when a program of this
 * repository cannot run here, and otherwise turns Node's compile cache on. Written for any Node from 20 on.
 */

const root = new URL('..', import.meta.url);
const read = (file) => readFileSync(new URL(file, root), 'utf8');

const problem = findProblem();
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}
// Does nothing where the folder cannot be written.
module.enableCompileCache(fileURLToPath(new URL('functions/.dev/compile-cache', root)));

function findProblem() {
  if (!existsSync(new URL('node_modules/.package-lock.json', root)))
    return 'The packages are not installed. Run: npm ci';

  const [required] = read('.nvmrc').trim().split('.');
  if (process.versions.node.split('.')[0] === required) return undefined;

  const { optionalDependencies } = JSON.parse(read('package.json'));
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const wrong = `This needs Node ${required}, but Node ${process.versions.node} runs it.`;
  if (!(name in optionalDependencies))
    return `${wrong} No package has it for this system. Run: nvm install ${required}`;
  if (!existsSync(new URL(`node_modules/${name}`, root)))
    return `${wrong} The package ${name} is not installed. Run: npm ci --include=optional`;
  return `${wrong} Use an npm script, or put it in front: npm exec -- node`;
}
