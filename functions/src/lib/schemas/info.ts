import * as z from 'zod';
import { expectedError, textField } from './fields';

export const infoSchema = z
  .object(
    {
      market_id: textField.describe(`Identifier of the lists' market. ${textField.description}`),
      boq_list_id: textField.describe(
        `Identifier of the price list in the client's system: the idempotency key. ${textField.description}`,
      ),
      currency_iso: z
        .string(expectedError('a currency code of three letters'))
        .regex(/^[A-Za-z]{3}$/, expectedError('a currency code of three letters', 'string'))
        .describe('Three ASCII letters, uppercased by the service.')
        .transform((code) => code.toUpperCase()),
      date: z
        .string(expectedError('a month as MM/YYYY'))
        .regex(/^(0[1-9]|1[0-2])\/[0-9]{4}$/, expectedError('a month as MM/YYYY', 'string'))
        .describe('Month of the lists, MM/YYYY.'),
      name: textField,
    },
    expectedError('an object'),
  )
  .meta({ id: 'PriceListInfo' });

export type PriceListInfo = z.output<typeof infoSchema>;

/**
 * The fields of `info` that key records, list documents and the lists in the response share. Of the two lists, only the
 * price list has `date`. A stricter rule for one of these fields can make older key records unreadable.
 */
export const listInfoSchema = infoSchema.pick({ market_id: true, name: true, date: true });
