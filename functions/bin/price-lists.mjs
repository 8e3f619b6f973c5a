#!/usr/bin/env -S node --disable-warning=MetadataLookupWarning
/* `npx --no price-lists` runs this file, which starts functions/cli. */
import '../../scripts/node-version.cjs';
import 'tsx';

await import('../cli/price-lists.ts');
