import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Html, html } from './html';
import { renderMarkdown } from './markdown';

/**
 * Writes the pages of the archive for partners as HTML files, which need no server:
 * `node --import tsx dev/pages/partner-pages.ts FOLDER`.
 */

const START = 'partner.md';
const CHANGES = '../CHANGELOG.md';
const PAGES = [START, 'integration-guide.md', 'api.md', 'examples/client/README.md', CHANGES];

const toTarget = (page: string): string =>
  page === START ? 'index.html' : page.replace('../', '').replace(/\.md$/, '.html');

/** Returns only what the newest section of the changelog says to clients, because the rest links to pages that the archive lacks. */
function selectChanges(text: string): string {
  const [, heading = '', section = ''] = /^## (.+)\n([^]*?)(?=\n## |$(?![^]))/m.exec(text) ?? [];
  const [, changes = ''] = /^For clients:\n([^]*?)(?=\n\nFor |$(?![^]))/m.exec(section) ?? [];
  return `# What is new in version ${heading.replace(/ - .*/, '')}\n${changes}`;
}

function writePartnerPages(folder: string): void {
  copyFileSync('dev/pages/browser/pages.css', join(folder, 'pages.css'));
  for (const page of PAGES) {
    const text = readFileSync(join('docs', page), 'utf8');
    const { title, html: content } = renderMarkdown(page, page === CHANGES ? selectChanges(text) : text);
    const target = toTarget(page);
    const root = '../'.repeat(target.split('/').length - 1);
    const linked = content.replaceAll(/href="([^":#]+\.md)/g, (_, link: string) => `href="${toTarget(link)}`);
    const document = html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <title>${title}</title>
          <link rel="stylesheet" href="${root}pages.css" />
        </head>
        <body>
          <header>
            <nav class="site" aria-label="Site">
              <a href="${root}index.html">Start</a>
              <a href="${root}integration-guide.html">Integration guide</a>
              <a href="${root}api.html">API</a>
            </nav>
          </header>
          <main id="content" class="prose">${new Html(linked)}</main>
        </body>
      </html> `;
    mkdirSync(dirname(join(folder, target)), { recursive: true });
    writeFileSync(join(folder, target), document.text);
  }
}

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('Usage: node --import tsx dev/pages/partner-pages.ts FOLDER');
writePartnerPages(folder);
