/** Allowed origins are compared exactly, so one that no browser sends would never match. */

/** @returns why no browser sends this origin, and what to write instead; undefined if a browser can send it */
export function findOriginProblem(origin: string): string | undefined {
  // Pages without an origin of their own, such as files, send this.
  if (origin === 'null') return undefined;
  if (origin.includes('*')) return `"${origin}" is a pattern, but origins are compared exactly: list each origin.`;
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(origin);
  const completed = hasScheme ? origin : `https://${origin}`;
  if (!URL.canParse(completed)) return `"${origin}" is not an origin such as https://dashboard.example.com.`;
  const { protocol, host } = new URL(completed);
  const expected = `${hasScheme ? protocol : guessProtocol(host)}//${host}`;
  return origin === expected ? undefined : `"${origin}" is not an origin that browsers send: write ${expected}.`;
}

const guessProtocol = (host: string): string => (/^(localhost|127\.|\[::1\])/.test(host) ? 'http:' : 'https:');
