#!/usr/bin/env -S node --disable-warning=MetadataLookupWarning
/* `npx price-lists`: npm links this file, and it starts functions/cli. */
import '../../scripts/node-version.cjs';
import 'tsx';

await import('../cli/price-lists.ts');
