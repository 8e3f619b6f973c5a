/**
 * Checks that Firestore security rules reject every client: no package reads the language well enough without Google's Java emulator,
 * and what these rules may say is little. Firestore rejects what no rule allows, so rules are closed if they allow nothing; this
 * reads the part of the language in which that is plain, and throws at anything else: a function, a variable, a condition.
 *
 *     rules    = "rules_version" "=" "'2'" ";" "service" "cloud.firestore" "{" match* "}"
 *     match    = "match" path "{" (match | allow)* "}"
 *     allow    = "allow" method ("," method)* ":" "if" "false" ";"
 *
 * https://firebase.google.com/docs/rules/rules-language
 */
const METHODS = ['read', 'get', 'list', 'write', 'create', 'update', 'delete'];

const TOKEN = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|('2'|cloud\.firestore|\/[^\s{}]*(?:\{[\w=*]+\}[^\s{}]*)*|\w+|[{}:;,=])/y;

/** The paths that the rules match. @throws Error at the first thing that does not reject every client */
export function parseDeniedPaths(rules: string): string[] {
  const tokens = tokensOf(rules);
  const paths: string[] = [];
  const next = (): string => tokens.shift() ?? 'the end';
  const expectNext = (...expected: string[]) => {
    for (const token of expected) {
      const found = next();
      if (found !== token) throw new Error(`expected ${token}, found ${found}`);
    }
  };
  const body = (of: 'service' | 'match', under: string): void => {
    expectNext('{');
    for (let token = next(); token !== '}'; token = next()) {
      if (token === 'match') {
        const path = next();
        if (!path.startsWith('/')) throw new Error(`expected a path, found ${path}`);
        paths.push(under + path);
        body('match', under + path);
      } else if (token === 'allow' && of === 'match') {
        allow();
      } else throw new Error(`expected a rule that rejects, found ${token}`);
    }
  };
  const allow = (): void => {
    let separator: string;
    do {
      const method = next();
      if (!METHODS.includes(method)) throw new Error(`expected a method, found ${method}`);
      separator = next();
    } while (separator === ',');
    if (separator !== ':') throw new Error(`expected a condition, found ${separator}`);
    expectNext('if', 'false', ';');
  };
  expectNext('rules_version', '=', "'2'", ';', 'service', 'cloud.firestore');
  body('service', '');
  if (tokens.length > 0) throw new Error(`expected the end, found ${next()}`);
  return paths;
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null) throw new Error(`unknown text: ${text.slice(start, start + 20)}`);
    if (found[1] !== undefined) tokens.push(found[1]);
  }
  return tokens;
}
