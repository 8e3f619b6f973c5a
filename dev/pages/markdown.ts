import { posix } from 'node:path';
import MarkdownIt, { type Token } from 'markdown-it';

/** Converts Markdown to HTML, with the anchors that GitHub gives to headings. */

const markdown = new MarkdownIt({ html: true, linkify: true });
const { escapeHtml } = markdown.utils;
const { rules } = markdown.renderer;

rules['heading_open'] = (tokens, i, options, env, renderer) => {
  const { anchors } = env as { anchors: Map<string, number> };
  const anchor = toAnchor(getText(tokens[i + 1]));
  const before = anchors.get(anchor) ?? 0;
  anchors.set(anchor, before + 1);
  tokens[i]?.attrSet('id', before === 0 ? anchor : `${anchor}-${before}`);
  return renderer.renderToken(tokens, i, options);
};
// Tables and code take the focus, so that the keyboard can scroll them if they are wider than the screen.
rules['table_open'] = () => '<div class="scroll" tabindex="0"><table>';
rules['table_close'] = () => '</table></div>';
rules['fence'] = (tokens, i) => {
  const { info = '', content = '' } = tokens[i] ?? {};
  const className = info === 'mermaid' ? info : 'code';
  return `<pre tabindex="0" class="${className}">${escapeHtml(content)}</pre>`;
};

const getText = (token: Token | undefined): string => (token?.children ?? []).map(({ content }) => content).join('');

const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

export interface Link {
  text: string;
  /** The path of the file or folder that the link leads to, relative to the same folder as the path of the page. */
  file: string;
}

export interface Section {
  heading: string;
  /** The links to files and folders of the repository. */
  links: Link[];
}

export interface MarkdownPage {
  /** The first heading; the path of the file if there is none. */
  title: string;
  html: string;
  sections: Section[];
}

/**
 * @param file path of the file. The `file` of each link is relative to the same folder as this path: the root of the repository for
 * the guides, `docs` for the partner pages.
 */
export function renderMarkdown(file: string, text: string): MarkdownPage {
  const env = { anchors: new Map<string, number>() };
  const tokens = markdown.parse(text, env);
  const sections: Section[] = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type !== 'inline') continue;
    if (tokens[i - 1]?.type === 'heading_open') sections.push({ heading: getText(token), links: [] });
    sections.at(-1)?.links.push(...findLinks(file, token.children ?? []));
  }
  const html = markdown.renderer.render(tokens, markdown.options, env);
  return { title: sections[0]?.heading ?? file, html, sections };
}

function findLinks(file: string, tokens: readonly Token[]): Link[] {
  return tokens.flatMap((token, i) => {
    const [target = ''] = String(token.attrGet('href') ?? '').split('#');
    if (token.type !== 'link_open' || target === '' || /^[a-z]+:/.test(target)) return [];
    const path = posix.join(posix.dirname(file), decodeURIComponent(target));
    return [{ text: tokens[i + 1]?.content ?? '', file: path }];
  });
}
