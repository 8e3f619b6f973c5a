import document from '../../docs/openapi.json';

/**
 * The operations in docs/openapi.json. `npm run check` compares that file with the functions. The request bodies are the
 * examples of that file, with the fields of `testBodies`.
 */

type Paths = typeof document.paths;

export type OperationName = keyof Paths extends `/${infer Name}` ? Name : never;

export type PostOperationName = {
  [Name in OperationName]: Paths[`/${Name}`] extends { post: unknown } ? Name : never;
}[OperationName];

/** Bodies that match the records that tests store. */
const testBodies = {
  getOrdersByTeam: { team_id: 'team-1', status: 'ALL', start_date: '2026-01-01', end_date: '2026-02-01' },
  supplyOrdersInvoices: { team_id: 'team-1', status: null, start_date: '2026-01-01', end_date: '2026-02-01' },
  addPriceLists: {
    info: { market_id: 'market-1', boq_list_id: 'boq-1', currency_iso: 'usd', date: '06/2026', name: 'June' },
    products: {
      cement: { price_list_price: 12.5, expected_forward_cost_price: 10 },
      gravel: { price_list_price: 3, expected_forward_cost_price: 0 },
    },
  },
} as const satisfies Partial<Record<PostOperationName, object>>;

/** The statuses of operations that do not respond 200 to their test body if no record matches it. */
const EMPTY_STATUSES: Partial<Record<OperationName, number>> = {};

export interface TestOperation {
  method: 'GET' | 'POST';
  /** The status of a response to the valid body, or to a GET, if no record matches. */
  emptyStatus: number;
  /** Whether browsers may call the operation. */
  cors: boolean;
  /** A valid body, if the method is POST. */
  body?: object;
}

type TestBodies = typeof testBodies;

interface PathItem {
  get?: object;
  post?: { requestBody: { content: { 'application/json': { examples: Record<string, { value: object }> } } } };
  options?: object;
}

export const operations = Object.fromEntries(
  Object.entries(document.paths as Record<string, PathItem>).map(
    ([path, { post, options }]): [string, TestOperation] => {
      const name = path.slice(1);
      const cors = options !== undefined;
      const emptyStatus = EMPTY_STATUSES[name as OperationName] ?? 200;
      if (post === undefined) return [name, { method: 'GET', emptyStatus, cors }];
      const [example] = Object.values(post.requestBody.content['application/json'].examples);
      const body = { ...example?.value, ...(testBodies as Record<string, object>)[name] };
      return [name, { method: 'POST', emptyStatus, cors, body }];
    },
  ),
) as Record<OperationName, TestOperation> & {
  [Name in keyof TestBodies]: { method: 'POST'; emptyStatus: number; body: TestBodies[Name] };
};

export const operationNames = Object.keys(operations) as OperationName[];

export const isPostOperation = (name: OperationName): name is PostOperationName => operations[name].method === 'POST';

export const postOperationNames = operationNames.filter(isPostOperation);
