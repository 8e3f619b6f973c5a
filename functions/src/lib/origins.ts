/** Allowed origins are compared exactly, so an origin that no browser sends would never match. */

/** @returns why an origin is refused; undefined for an origin that is accepted */
export function findOriginProblem(origin: string): string | undefined {
  if (origin.includes('*')) return `"${origin}" is a pattern, but origins are compared exactly: list each origin.`;
  if (isSendable(origin)) return undefined;
  return `"${origin}" is not an origin as browsers send it, such as https://dashboard.example.com or http://localhost:3000.`;
}

/**
 * Letters, digits, hyphens, underscores and single dots, or an IPv6 address. Other hosts usually come from mistakes, such as a variable
 * that no shell expanded.
 */
const HOST = /^(\[[\da-f:]+\]|[\w-]+(\.[\w-]+)*\.?)$/;

function isSendable(origin: string): boolean {
  // Pages without an origin of their own, such as local files, send `null`.
  if (origin === 'null') return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, host, hostname } = new URL(origin);
  // Browsers leave out the scheme's default port, normalise IP addresses, and write the origin in lowercase.
  return `${protocol}//${host}` === origin && HOST.test(hostname);
}
