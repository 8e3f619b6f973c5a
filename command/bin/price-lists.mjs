#!/usr/bin/env node
/* `npx --no -- price-lists` runs this file, which starts command/cli. */
import '../../functions/node-version.cjs';
import 'tsx';

await import('../cli/price-lists.ts');
