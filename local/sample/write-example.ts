import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { EXAMPLE_PRICE_LIST, createExamplePriceList } from '.';

/** Writes the example price list: `npx tsx local/sample/write-example.ts`. */
mkdirSync(dirname(EXAMPLE_PRICE_LIST), { recursive: true });
writeFileSync(EXAMPLE_PRICE_LIST, createExamplePriceList());
