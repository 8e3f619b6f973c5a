'use strict';

/*
 * Ends a program that an older Node runs. It is loaded first, before anything that an older Node does not have: by npm scripts, by
 * Jest, and by the deploy package, which Firebase's emulator runs on the machine's own Node.
 */

/** The version in `engines` of package.json. */
const OLDEST = '22.13';

const { node } = process.versions;
const [[major, minor], [oldestMajor, oldestMinor]] = [node, OLDEST].map((version) => version.split('.').map(Number));
if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  console.error(
    `This needs Node ${OLDEST} or later, but Node ${node} runs it. Install a newer one. On Linux and Windows, npm scripts ` +
      'and npx use the Node in node_modules; if npm has lost the link to it, this restores it: npm run postinstall',
  );
  process.exit(1);
}
