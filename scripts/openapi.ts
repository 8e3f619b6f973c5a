import { readFile, writeFile } from 'node:fs/promises';
import { createClientOperations } from './openapi/client';
import { createOpenApiDocument } from './openapi/document';
import { PAGES, renderPage } from './openapi/pages';

/*
 * node --import tsx scripts/openapi.ts [--check]
 *
 * Writes what follows from the service's operations: the description, the client, tables of pages. With --check it only says
 * what is out of date.
 */

const DESCRIPTION = 'docs/openapi.json';
const CLIENT = 'docs/examples/client/src';

async function main(): Promise<void> {
  const document = createOpenApiDocument();
  const types = await createClientTypes(document);
  const outdated = await findOutdated([
    [DESCRIPTION, () => `${JSON.stringify(document, null, 2)}\n`],
    [`${CLIENT}/api.ts`, () => types],
    [`${CLIENT}/operations.ts`, createClientOperations],
    ...PAGES.map((page): GeneratedFile => [page, (text) => renderPage(page, text, document)]),
  ]);
  const names = [...outdated.keys()];
  if (process.argv.includes('--check')) {
    if (names.length > 0) throw new Error(`Out of date: ${names.join(', ')}. To write them: npm run generate`);
    return;
  }
  for (const [file, text] of outdated) await writeFile(file, text);
  console.log(names.length > 0 ? `Written: ${names.join(', ')}` : 'Nothing has changed.');
}

/** A path, and what is to be in the file in place of its text. */
type GeneratedFile = readonly [file: string, generate: (text: string) => string];

/** @returns the text of each file that is not as it is generated */
async function findOutdated(files: readonly GeneratedFile[]): Promise<Map<string, string>> {
  const outdated = new Map<string, string>();
  for (const [file, generate] of files) {
    const text = await readFile(file, 'utf8');
    const generated = generate(text);
    if (generated !== text) outdated.set(file, generated);
  }
  return outdated;
}

/** @returns the source of the client's types, as the generator's own command writes it */
async function createClientTypes(document: object): Promise<string> {
  const { astToString, COMMENT_HEADER, default: generate } = await import('openapi-typescript');
  return COMMENT_HEADER + astToString(await generate(JSON.stringify(document)));
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
