import { visit } from 'jsonc-parser';
import type { Shape } from '../../functions/src/lib/json';

/** A JSON text as jsonc-parser reads it, because `JSON.parse` can confuse names (docs/decisions/0003-body-after-key.md). */
export interface IndependentJson {
  /** Objects are Maps, in which the last member of each name counts. */
  value: unknown;
  depth: number;
}

/** @returns undefined for a text that is not JSON */
export function parseIndependently(text: string): IndependentJson | undefined {
  const errors: number[] = [];
  let depth = 0;
  let maxDepth = 0;
  let value: unknown;
  const open: { add: (value: unknown) => void; name?: string }[] = [{ add: (each) => (value = each) }];
  const add = (each: unknown) => open.at(-1)?.add(each);
  const enter = (addMember: (each: unknown) => void) => {
    open.push({ add: addMember });
    depth += 1;
    maxDepth = Math.max(maxDepth, depth);
  };
  const leave = () => {
    open.pop();
    depth -= 1;
  };
  visit(
    text,
    {
      onObjectBegin: () => {
        const members = new Map<string, unknown>();
        add(members);
        enter((each) => members.set(open.at(-1)?.name ?? '', each));
      },
      onObjectProperty: (name) => Object.assign(open.at(-1) ?? {}, { name }),
      onObjectEnd: leave,
      onArrayBegin: () => {
        const elements: unknown[] = [];
        add(elements);
        enter((each) => elements.push(each));
      },
      onArrayEnd: leave,
      onLiteralValue: add,
      onError: (error) => errors.push(error),
    },
    { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false },
  );
  return errors.length === 0 ? { value, depth: maxDepth } : undefined;
}

/** Returns the part of a value of {@link parseIndependently} that `scanJson` should return for a shape. */
export function select(value: unknown, shape: Shape): unknown {
  if (Array.isArray(value)) return [];
  if (!(value instanceof Map)) return Object.is(value, -0) ? 0 : value;
  const members = [...(value as Map<string, unknown>)];
  switch (shape.kind) {
    case 'scalar':
      return {};
    case 'map':
      return new Map(members.map(([name, each]) => [name, select(each, shape.values)]));
    case 'object':
      return Object.fromEntries(
        shape.members.flatMap(({ name, shape: of }) => (value.has(name) ? [[name, select(value.get(name), of)]] : [])),
      );
  }
}
