import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import protobuf from 'protobufjs';
import pbjs from 'protobufjs-cli/pbjs.js';
import pbts from 'protobufjs-cli/pbts.js';

/**
 * `npm run messages [-- FOLDER]` generates the code of messages.proto: encoders of what is sent, decoders of what is read, and
 * their types. The halves that nothing calls are left out, because a cold start loads them too.
 */

const FIRESTORE = 'functions/src/lib/firestore';
const FILES = {
  request: { namespaces: ['Request'], unused: '--no-decode' },
  response: { namespaces: ['Response', 'Position'], unused: '--no-encode' },
};
const UNUSED = ['--no-create', '--no-verify', '--no-convert', '--no-delimited', '--no-typeurl', '--no-service'];

const runPbjs = promisify(pbjs.main);
const runPbts = promisify(pbts.main);

const [target = join(FIRESTORE, 'generated')] = process.argv.slice(2);
const { nested } = protobuf.parse(await readFile(join(FIRESTORE, 'messages.proto'), 'utf8')).root.toJSON();
const temporary = await mkdtemp(join(tmpdir(), 'messages-'));
await mkdir(target, { recursive: true });
for (const [name, { namespaces, unused }] of Object.entries(FILES)) {
  const definitions = join(temporary, `${name}.json`);
  const picked = namespaces.map((namespace) => [namespace, { nested: nested[namespace].nested }]);
  await writeFile(definitions, JSON.stringify({ nested: Object.fromEntries(picked) }));
  const options = ['--target=static-module', '--wrap=commonjs', `--root=${name}`, ...UNUSED, unused];
  await writeFile(join(target, `${name}.js`), await runPbjs([...options, '--no-comments', definitions]));
  // The types come from the comments.
  const commented = join(temporary, `${name}.js`);
  await writeFile(commented, await runPbjs([...options, definitions]));
  await writeFile(join(target, `${name}.d.ts`), await runPbts(['--no-comments', commented]));
}
await rm(temporary, { recursive: true });
