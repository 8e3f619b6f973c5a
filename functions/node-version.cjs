'use strict';

/*
 * Ends a program on a Node that is too old. Jest, the deploy package and most npm scripts load this file before anything that
 * an older Node lacks. Firebase's emulator runs the deploy package on the machine's own Node.
 */

/** The version in `engines` of the repository's package.json. */
const OLDEST = '22.19';

const { node } = process.versions;
const [[major, minor], [oldestMajor, oldestMinor]] = [node, OLDEST].map((version) => version.split('.').map(Number));
if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  const sentence = `This program needs Node ${OLDEST} or later, but runs on Node ${node}. Install a newer version.`;
  const advice =
    'On Linux and Windows, npm scripts and npx use the Node in node_modules. If npm has removed the link to it, run: npm run postinstall';
  // A program that is bundled to one file runs without npm.
  console.error(__filename.endsWith('node-version.cjs') ? `${sentence} ${advice}` : sentence);
  process.exit(1);
}
