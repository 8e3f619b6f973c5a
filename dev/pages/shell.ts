import { GUIDES_INDEX } from './guides';
import { html, type Content, type Html } from './html';

/** The links at the top of each page, each text with its address. */
const SITE_LINKS = { 'API reference': '/', Guides: `/${GUIDES_INDEX}`, Data: '/data' };

export interface Shell {
  title: string;
  /** The link at the top that the page belongs to. */
  section: keyof typeof SITE_LINKS;
  /** Style sheets and scripts besides the common style sheet. */
  head?: Content;
  body: Content;
}

export function renderShell({ title, section, head, body }: Shell): Html {
  const links = Object.entries(SITE_LINKS).map(([text, url]) => {
    const current = text === section ? html` aria-current="page"` : undefined;
    return html`<a href="${url}" ${current}>${text}</a>`;
  });
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${section === title ? title : `${title} · ${section}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/pages/pages.css" />
        ${head}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <nav class="site" aria-label="Site">${links}</nav>
        </header>
        ${body}
      </body>
    </html> `;
}
