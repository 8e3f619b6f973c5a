import { readFileSync } from 'node:fs';

/*
 * node --import tsx scripts/versions.ts [TAG]
 *
 * The version of a release stands in several files. Fails unless all agree: the packages, the API description, the newest
 * dated section of CHANGELOG.md, and the tag if one is given.
 */

interface Versioned {
  version: string;
}

const readVersion = (file: string): string => (JSON.parse(readFileSync(file, 'utf8')) as Versioned).version;

function readChangelogVersion(): string {
  const [, version] = /^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$/m.exec(readFileSync('CHANGELOG.md', 'utf8')) ?? [];
  if (version === undefined) throw new Error('CHANGELOG.md has no section of the form "## 1.0.0 - 2026-11-21"');
  return version;
}

function readVersions(tag: string | undefined): Map<string, string> {
  const files = ['package.json', 'functions/package.json', 'docs/examples/client/package.json'];
  const versions = new Map(files.map((file) => [file, readVersion(file)]));
  versions.set('CHANGELOG.md', readChangelogVersion());
  const { info } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { info: Versioned };
  versions.set('docs/openapi.json', info.version);
  if (tag !== undefined) versions.set(`the tag ${tag}`, tag.replace(/^v/, ''));
  return versions;
}

const versions = readVersions(process.argv[2]);
if (new Set(versions.values()).size > 1) {
  console.error('The versions differ:');
  for (const [place, version] of versions) console.error(`  ${version}  ${place}`);
  process.exitCode = 1;
}
