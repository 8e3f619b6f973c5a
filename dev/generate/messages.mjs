import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import protobuf from 'protobufjs';
import pbjs from 'protobufjs-cli/pbjs.js';
import pbts from 'protobufjs-cli/pbts.js';

const FIRESTORE = 'functions/src/lib/firestore';
const FILES = {
  request: { namespaces: ['Request'], unused: '--no-decode' },
  response: { namespaces: ['Response', 'Position'], unused: '--no-encode' },
};
const UNUSED = ['--no-create', '--no-verify', '--no-convert', '--no-delimited', '--no-typeurl', '--no-service'];

const runPbjs = promisify(pbjs.main);
const runPbts = promisify(pbts.main);

const TARGET = join(FIRESTORE, 'generated');

/**
 * Generates encoders of requests, decoders of responses, and their types. Decoders of requests and encoders of responses would only
 * slow down cold starts.
 */
export async function generateMessages() {
  const { nested } = protobuf.parse(readFileSync(join(FIRESTORE, 'messages.proto'), 'utf8')).root.toJSON();
  const temporary = mkdtempSync(join(tmpdir(), 'messages-'));
  const generated = {};
  for (const [name, { namespaces, unused }] of Object.entries(FILES)) {
    const definitions = join(temporary, `${name}.json`);
    const picked = namespaces.map((namespace) => [namespace, { nested: nested[namespace].nested }]);
    writeFileSync(definitions, JSON.stringify({ nested: Object.fromEntries(picked) }));
    const options = ['--target=static-module', '--wrap=commonjs', `--root=${name}`, ...UNUSED, unused];
    generated[join(TARGET, `${name}.js`)] = await runPbjs([...options, '--no-comments', definitions]);
    // pbts reads the types from the comments.
    const commented = join(temporary, `${name}.js`);
    writeFileSync(commented, await runPbjs([...options, definitions]));
    generated[join(TARGET, `${name}.d.ts`)] = await runPbts(['--no-comments', commented]);
  }
  rmSync(temporary, { recursive: true });
  return generated;
}
