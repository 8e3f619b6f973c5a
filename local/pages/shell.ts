import { html, type Content, type Html } from './html';

/** The frame of every local page: the top of the page, the way home, and the content. */
export interface Shell {
  title: string;
  /** What the title belongs to, for the browser's tab. */
  section: string;
  /** The links at the top: text to address. The one whose text is the section is the current one. */
  links: Readonly<Record<string, string>>;
  /** Stands at the right of the links. */
  note?: string;
  /** Style sheets and scripts beside the common style sheet. */
  head?: Content;
  body: Content;
}

export function renderShell({ title, section, links, note, head, body }: Shell): Html {
  const siteLinks = Object.entries(links).map(([text, url]) =>
    text === section ? html`<a href="${url}" aria-current="page">${text}</a>` : html`<a href="${url}">${text}</a>`,
  );
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title === section ? title : `${title} · ${section}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/pages/pages.css" />
        ${head}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <nav class="site" aria-label="Site">${siteLinks}</nav>
          ${note === undefined ? undefined : html`<span class="quiet">${note}</span>`}
        </header>
        ${body}
      </body>
    </html> `;
}
