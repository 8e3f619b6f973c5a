import { formatCommand } from '../../cli/format';
import { getProgram } from '../../cli/text';
import { keyDocumentId } from '../../../functions/src/lib/schemas/key-record';

/** A client can choose any id, so a printed command names the key by the path of its record, which no shell treats as code. */

const format = (id: string, options = {}) => formatCommand('show', id, options);

test('a printed command begins like the command that prints it, and names the key by the path of its record', () => {
  for (const id of ['BOQ-7', '$(id)', "it's", '-x', '\u202e'])
    expect(format(id)).toBe(`npx --no -- price-lists show price_list_idempotency/${keyDocumentId(id)}`);
  expect(format('a', { database: '(default)' })).toContain(" show --database '(default)' price_list_idempotency/");
  expect(getProgram('/clone/node_modules/.bin/price-lists')).toBe('npx --no -- price-lists');
  expect(getProgram(`${process.cwd()}/price-lists.cjs`)).toBe('node price-lists.cjs');
  expect(getProgram(`${process.cwd()}/my files/price-lists.cjs`)).toBe("node 'my files/price-lists.cjs'");
});
