/** Allowed origins are compared exactly, so an origin that no browser sends would never match. */

/** @returns why no browser sends this origin; undefined if a browser can send it */
export function findOriginProblem(origin: string): string | undefined {
  if (isSendable(origin)) return undefined;
  if (origin.includes('*')) return `"${origin}" is a pattern, but origins are compared exactly: list each origin.`;
  return `"${origin}" is not an origin as browsers send it, such as https://dashboard.example.com or http://localhost:3000.`;
}

const ORIGIN = /^([a-z][a-z\d+.-]*):\/\/(\[[\da-f:]+\]|[a-z\d_.-]+)(?::\d{1,5})?$/;

/** A host name: labels of at most 63 characters, 253 in all. */
const HOST_NAME = /^(?=.{1,254}$)([a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?(\.|$))+$/;

/** Browsers send the origin `null` for pages under these schemes, or load no page under them. */
const SCHEMES_WITHOUT_ORIGIN = new Set(
  'about blob data file filesystem ftp javascript mailto view-source ws wss'.split(' '),
);

function isSendable(origin: string): boolean {
  // Pages without an origin of their own, such as files, send this.
  if (origin === 'null') return true;
  const [, scheme, host] = ORIGIN.exec(origin) ?? [];
  if (scheme === undefined || host === undefined || SCHEMES_WITHOUT_ORIGIN.has(scheme)) return false;
  if (!host.startsWith('[') && !HOST_NAME.test(host)) return false;
  if (!URL.canParse(origin)) return false;
  // Browsers leave out the scheme's own port, and shorten an address.
  const url = new URL(origin);
  return `${url.protocol}//${url.host}` === origin;
}
