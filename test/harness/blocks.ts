import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
];

export interface Block {
  document: string;
  line: number;
  language: string;
  code: string;
}

export const blocks = documents.flatMap(readBlocks);

function readBlocks(document: string): Block[] {
  const text = readFileSync(document, 'utf8');
  return [...text.matchAll(/^( *)```(\w*)\n([^]*?)^\1```$/gm)].map(
    ({ 1: indent = '', 2: language = '', 3: code = '', index }) => ({
      document,
      line: text.slice(0, index).split('\n').length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}
