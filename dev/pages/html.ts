/** HTML that needs no escaping. {@link html} creates it from a template, and escapes every inserted text. */
export class Html {
  constructor(readonly text: string) {}
}

export type Content = Html | string | number | undefined | readonly Content[];

export function html(strings: TemplateStringsArray, ...values: Content[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(toText)));
}

function toText(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof Html) return content.text;
  if (typeof content === 'object') return content.map(toText).join('');
  return escapeHtml(String(content));
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
