/** Allowed origins are compared exactly, so one that no browser sends would never match. */

/** @returns why no browser sends this origin, and what to write instead; undefined if a browser can send it */
export function findOriginProblem(origin: string): string | undefined {
  if (isSendable(origin)) return undefined;
  if (origin.includes('*')) return `"${origin}" is a pattern, but origins are compared exactly: list each origin.`;
  const corrected = correct(origin);
  return corrected === undefined
    ? `"${origin}" is not an origin such as https://dashboard.example.com.`
    : `"${origin}" is not an origin that browsers send: write ${corrected}.`;
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
  return URL.canParse(origin) && toOrigin(new URL(origin)) === origin;
}

/** Browsers leave out the scheme's own port, and shorten an address. */
const toOrigin = ({ protocol, host }: URL): string => `${protocol}//${host}`;

/** @returns the origin that was probably meant; undefined if no browser sends that either */
function correct(origin: string): string | undefined {
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(origin);
  const completed = hasScheme ? origin : `https://${origin}`;
  if (!URL.canParse(completed)) return undefined;
  const url = new URL(completed);
  const corrected = hasScheme ? toOrigin(url) : `${guessProtocol(url.host)}//${url.host}`;
  return isSendable(corrected) ? corrected : undefined;
}

const guessProtocol = (host: string): string => (/^(localhost|127\.|\[::1\])/.test(host) ? 'http:' : 'https:');
