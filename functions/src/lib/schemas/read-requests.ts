import * as z from 'zod';
import { expectedError, textField } from './fields';

/** Request bodies of the two reads of a range of dates. Unknown fields are ignored. */

const dateField = (meaning: string) =>
  z.iso
    .date(expectedError('a valid date as YYYY-MM-DD', 'string'))
    .describe(`${meaning}, midnight UTC. A calendar date: 2026-02-30 is invalid.`)
    // eslint-disable-next-line no-restricted-globals -- Converts a given date.
    .transform((value) => Date.parse(`${value}T00:00:00.000Z`));

const teamIdField = textField.describe(`${textField.description} A value of 1500 bytes or more matches no record.`);

/** `start_date` is inclusive, `end_date` exclusive; both are parsed to Unix ms at midnight UTC. */
const teamDateRangeSchema = z.object(
  { team_id: teamIdField, start_date: dateField('First day'), end_date: dateField('Day after the last') },
  expectedError('an object'),
);

const orderStatuses = ['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED', 'CANCELLED'] as const;

export const ordersByTeamRequestSchema = teamDateRangeSchema
  .extend({
    status: z
      .enum([...orderStatuses, 'ALL'], expectedError(`one of ${orderStatuses.join(', ')}, ALL`, 'string'))
      .describe('`ALL` for orders of any status.')
      .transform((status) => (status === 'ALL' ? null : status)),
  })
  .meta({ id: 'OrdersByTeamRequest' });
export type OrdersByTeamRequest = z.output<typeof ordersByTeamRequestSchema>;

export const supplyOrdersInvoicesRequestSchema = teamDateRangeSchema
  .extend({
    status: z
      // A union, because some code generators drop the null of an enum that mixes types.
      .union([z.literal([0, 1]).meta({ type: 'integer' }), z.null()], expectedError('0, 1 or null', 'number'))
      .describe('`null` for supply orders of any status. What 0 and 1 mean is not defined: ask support.'),
  })
  .meta({ id: 'SupplyOrdersInvoicesRequest' });
export type SupplyOrdersInvoicesRequest = z.output<typeof supplyOrdersInvoicesRequestSchema>;
