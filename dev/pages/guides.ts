import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { Html, html, type Content } from './html';
import { renderMarkdown, type MarkdownPage } from './markdown';

/** Renders documents, and what they link to, as pages. Their addresses are their paths, so that each link works here as it does on disk. */

/** What a page shows, without the links at the top of all pages. */
export interface GuidePage {
  title: string;
  body: Content;
  /** Whether the page has a diagram in Mermaid's notation. */
  hasDiagram?: boolean;
}

/** Each guide shows the list of documents of this page. */
export const GUIDES_INDEX = 'docs/README.md';

/** Documents to render, and folders that hold such documents. */
const ROOTS = ['docs', 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'emulator'];

/** Paths that are served only if a document links to them, not if it links only to a folder above them. */
const HIDDEN = /(^|\/)(\.[^/]*|node_modules|dist)(\/|$)/;

/**
 * Finds the page of a file or a folder: a document, what a document links to, or what a linked folder contains. Other paths have no page.
 *
 * @param path from the root of the repository
 * @returns the page, the path of the page to redirect to, or undefined
 */
export function findGuide(path: string): GuidePage | string | undefined {
  if (path === 'docs') return GUIDES_INDEX;
  if (!isPlainPath(path) || !existsSync(path)) return undefined;
  const guides = listGuides();
  if (guides.includes(path)) return renderGuide(path);
  if (!isLinked(path, guides)) return undefined;
  if (!statSync(path).isDirectory()) return renderFile(path);
  const readme = posix.join(path, 'README.md');
  return guides.includes(readme) ? readme : renderFolder(path);
}

const listGuides = (): string[] => ROOTS.flatMap(listFiles).filter((path) => path.endsWith('.md'));

function listFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return listFolder(path).flatMap(listFiles);
}

const listFolder = (path: string): string[] =>
  readdirSync(path)
    .map((name) => posix.join(path, name))
    .filter((below) => !HIDDEN.test(below));

/** Returns whether a document links to a path or, unless the path is hidden, to a folder above it. */
function isLinked(path: string, guides: readonly string[]): boolean {
  const targets = guides.flatMap((guide) => readGuide(guide).sections.flatMap(({ links }) => links));
  const isBelow = (folder: string) => path.startsWith(`${folder}/`) && !HIDDEN.test(path);
  return targets.some(({ file }) => file === path || isBelow(file));
}

/** Returns whether a path is normalised and stays within the repository on every operating system. */
const isPlainPath = (path: string): boolean => posix.normalize(path) === path && !/^\.\.(\/|$)|^\/|[\\:\0]/.test(path);

const readGuide = (path: string): MarkdownPage => renderMarkdown(path, readFileSync(path, 'utf8'));

function renderGuide(path: string): GuidePage {
  const { title, html: content } = readGuide(path);
  return {
    title,
    hasDiagram: content.includes('class="mermaid"'),
    // On a phone, the list of guides comes after the text, so a link to the list comes first.
    body: html`<div class="guide">
      <a class="to-guides" href="#guides">All guides ↓</a>
      <main id="content" class="prose">${new Html(content)}</main>
      <nav id="guides" class="guides" aria-label="Guides">${renderNavigation(path)}</nav>
    </div>`,
  };
}

/** Lists the documents as docs/README.md does. */
function renderNavigation(current: string): Content {
  return readGuide(GUIDES_INDEX).sections.map(({ heading, links }) => {
    const guides = links.filter(
      ({ file }, i) => isOtherGuide(file) && links.findIndex((each) => each.file === file) === i,
    );
    if (guides.length === 0) return undefined;
    const items = guides.map(({ text, file }) => {
      const isCurrent = file === current ? html` aria-current="page"` : undefined;
      return html`<li><a href="/${file}" ${isCurrent}>${text}</a></li>`;
    });
    return html`<h2>${heading}</h2>
      <ul>
        ${items}
      </ul>`;
  });
}

const isOtherGuide = (file: string): boolean => file.endsWith('.md') && file !== GUIDES_INDEX;

const renderFile = (path: string): GuidePage => ({
  title: path,
  body: html`<main id="content">
    <h1>${path}</h1>
    <pre class="code" tabindex="0">${readFileSync(path, 'utf8')}</pre>
  </main>`,
});

const renderFolder = (path: string): GuidePage => ({
  title: path,
  body: html`<main id="content">
    <h1>${path}</h1>
    <ul>
      ${listFolder(path).map((below) => html`<li><a href="/${below}">${posix.basename(below)}</a></li>`)}
    </ul>
  </main>`,
});
