import { OUTSIDE_PRODUCTS_LIMIT, PRODUCT_LIMIT } from '../../functions/src/lib/payload-limits';
import { MAX_FIELD_ERRORS } from '../../functions/src/price-lists/submission-parser';
import { MAX_TEXT_BYTES } from '../../functions/src/lib/schemas/fields';
import { getOperations } from './operations';

const MIB = 1024 ** 2;

/** @returns every limit of the interface and its value, for the tables of the documents */
export function getLimits(): [limit: string, value: string][] {
  const infos = getOperations().map(({ info }) => info);
  const reads = infos.filter(({ name }) => name !== 'addPriceLists');
  const writes = infos.filter(({ name }) => name === 'addPriceLists');
  const distinct = (values: (number | undefined)[]) => [...new Set(values)].filter((value) => value !== undefined);
  const list = (values: number[], unit = 's') => `${values.join(' or ')} ${unit}`;
  const bodyMiB = (operations: typeof infos) => distinct(operations.map(({ body }) => body && body.maxBytes / MIB));
  const bodySeconds = (operations: typeof infos) =>
    distinct(operations.map(({ body }) => body && body.timeoutMs / 1000));
  const timeouts = (operations: typeof infos) =>
    distinct(operations.map(({ runtimeOptions }) => runtimeOptions.timeoutSeconds));
  return [
    [
      'Request body, as sent and inflated',
      `${list(bodyMiB(reads), 'MiB')}; add price lists ${list(bodyMiB(writes), 'MiB')}`,
    ],
    ['Body of add price lists, outside `products`', `${OUTSIDE_PRODUCTS_LIMIT.bytes / MIB} MiB`],
    ['One product, its identifier or its value', `${PRODUCT_LIMIT.bytes / 1024} KiB`],
    ['Time to send the body', `${list(bodySeconds(reads))}; add price lists ${list(bodySeconds(writes))}`],
    ['Time until the response', `${list(timeouts(reads))}; add price lists ${list(timeouts(writes))}`],
    ['Text field', `${MAX_TEXT_BYTES} bytes of UTF-8`],
    ['Products of a price list', 'at least 1, and as many as fit into the body'],
    ['Field errors in a 400 of add price lists', `${MAX_FIELD_ERRORS}; the message then says that there may be more`],
  ];
}
