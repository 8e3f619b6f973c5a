import { readFileSync } from 'node:fs';
import type { Page } from 'puppeteer-core';

/** Reads and checks a page in the browser. */

export async function readTexts(page: Page, selector: string): Promise<string[]> {
  const found = `document.querySelectorAll(${JSON.stringify(selector)})`;
  return (await page.evaluate(`[...${found}].map(({ textContent }) => textContent)`)) as string[];
}

const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** Returns the serious and critical findings of axe-core: https://dequeuniversity.com/rules/axe. Leaves out the library Swagger UI. */
export const findViolations = (page: Page): Promise<unknown> =>
  page.evaluate(`${AXE}
    axe.run({ exclude: ['.swagger-ui'] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(' '))]))`);

export const setColorScheme = (page: Page, value: 'light' | 'dark') =>
  page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);

/** Checks that a page has the brightness that the system prefers, and no serious or critical finding of axe-core. */
export async function expectAccessible(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  for (const selector of ['body', 'header']) expect(await readBrightness(page, selector)).toBe(scheme);
  expect(await findViolations(page)).toEqual([]);
}

async function readBrightness(page: Page, selector: string): Promise<'light' | 'dark'> {
  const style = `getComputedStyle(document.querySelector('${selector}'))`;
  const color = await page.evaluate(`${style}.backgroundColor`);
  const [red = 0, green = 0, blue = 0] = (String(color).match(/\d+/g) ?? []).map(Number);
  return red + green + blue > 384 ? 'light' : 'dark';
}
