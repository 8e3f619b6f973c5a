/** The fields that the service reads of an order. */
const FIELDS = ['customer_data.customer_id', 'customer_data.customer_name', 'invoice_id', 'market_id', 'team_id'];

/** The bytes of a `google.firestore.v1.RunQueryRequest` for a team's orders, with the projection of the service. */
export function encodeRunQueryRequest(parent: string, teamId: string): Buffer {
  const select = FIELDS.map((path) => encodeField(1, encodeField(2, path)));
  const from = encodeField(2, encodeField(2, 'orders'));
  const equals = Buffer.from([0x10, 5]);
  const filter = Buffer.concat([
    encodeField(1, encodeField(2, 'team_id')),
    equals,
    encodeField(3, encodeField(17, teamId)),
  ]);
  const query = Buffer.concat([encodeField(1, ...select), from, encodeField(3, encodeField(2, filter))]);
  return Buffer.concat([encodeField(1, parent), encodeField(2, query)]);
}

/** A length-delimited protobuf field. */
function encodeField(number: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([encodeVarint(number * 8 + 2), encodeVarint(content.length), content]);
}

function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
