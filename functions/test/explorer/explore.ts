import { describeKeyMove } from './key-moves';
import { getInitialState, Moves, type Protocol, type Scenario } from './moves';
import { isSettled, PROPERTIES, Safety, type Property } from './properties';
import { encodeState, type State } from './state';

/** Breadth-first search of every state that a scenario can reach, each once. */

export interface Exploration {
  states: number;
  transitions: number;
  /** Moves of the longest of the shortest paths. */
  depth: number;
  /** Each event that was committed, and each result of a client, with what the key then was. */
  outcomes: ReadonlySet<string>;
  /** What commits made of the key: {@link describeKeyMove}. */
  keyMoves: ReadonlySet<string>;
  /** The first one found, which no shorter path leads to; null: every property holds. */
  violation: Violation | null;
}

export interface Violation {
  property: Property;
  /** The shortest path to it, as named steps. */
  path: string[];
}

/** More than any scenario has: a space that is not closed is an error, not a result. */
const MAX_STATES = 2_000_000;

/**
 * Explores a scenario until its space is closed, or a property is violated.
 *
 * @param checked the properties that end the search
 * @throws Error if the space is larger than MAX_STATES
 */
export function explore(
  scenario: Scenario,
  protocol: Protocol,
  checked = Object.keys(PROPERTIES) as Property[],
): Exploration {
  return new Search(new Moves(scenario, protocol), new Set(checked)).run();
}

/** Returns a violation as text: the property, and the shortest path to it step by step. */
export const formatViolation = ({ property, path }: Violation): string =>
  [`violated: ${PROPERTIES[property]}`, ...path.map((step, i) => `  ${i + 1}. ${step}`)].join('\n');

/** The states in the order in which they were found: their index is their number. */
class Search {
  readonly #numbers = new Map<string, number>();
  /** Those that are not expanded yet, from the `#expanded`th on. */
  #front: State[] = [];
  #expanded = 0;
  readonly #parents: number[] = [];
  readonly #steps: string[] = [];
  readonly #depths: number[] = [];
  readonly #settled: number[] = [];
  /** Moves that are no faults: each leads from a state to the one at the same index. */
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  #transitions = 0;
  readonly #outcomes = new Set<string>();
  readonly #keyMoves = new Map<string, string>();
  readonly #safety: Safety;

  constructor(
    private readonly moves: Moves,
    private readonly checked: ReadonlySet<Property>,
  ) {
    this.#safety = new Safety(moves);
  }

  run(): Exploration {
    const violation = this.#findUnsafe() ?? this.#findStuck();
    const depth = this.#depths.reduce((most, each) => Math.max(most, each), 0);
    return {
      states: this.#numbers.size,
      transitions: this.#transitions,
      depth,
      outcomes: this.#outcomes,
      keyMoves: new Set(this.#keyMoves.values()),
      violation,
    };
  }

  #findUnsafe(): Violation | null {
    this.#addState(this.#getFirstState(), -1, '');
    while (this.#front.length > 0) {
      const level = this.#front;
      this.#front = [];
      for (const state of level) {
        const number = this.#expanded;
        this.#expanded += 1;
        const violation = this.#expand(state, number);
        if (violation !== null) return violation;
      }
    }
    return null;
  }

  /** Follows the prologue of the scenario. Its faults are not counted. */
  #getFirstState(): State {
    const { scenario } = this.moves;
    const initial = getInitialState(scenario);
    let state = initial;
    for (const step of scenario.prologue ?? []) {
      const moves = this.moves.list({ ...state, faults: initial.faults + 1 });
      const move = moves.find(({ name }) => name === step);
      if (move === undefined) throw new Error(`no move "${step}" among: ${moves.map(({ name }) => name).join('; ')}`);
      state = { ...move.next, faults: initial.faults };
    }
    return state;
  }

  #expand(state: State, number: number): Violation | null {
    for (const { name, next, isFault, change } of this.moves.list(state)) {
      this.#transitions += 1;
      if (change.kind === 'event') {
        this.#outcomes.add(`${change.commit.event}, ${change.commit.outcome}`);
        this.#addKeyMove(state, next);
      }
      if (change.kind === 'result') this.#outcomes.add(`result, ${change.outcome}`);
      const property = this.#findChecked(this.#safety.checkMove(state, next, change));
      if (property !== undefined) return { property, path: [...this.#getPath(number), name] };
      const known = this.#numbers.size;
      const found = this.#addState(next, number, name);
      if (!isFault) {
        this.#from.push(number);
        this.#to.push(found);
      }
      if (found < known) continue;
      const violated = this.#findChecked(this.#safety.checkState(next));
      if (violated !== undefined) return { property: violated, path: this.#getPath(found) };
    }
    return null;
  }

  #addKeyMove(before: State, after: State): void {
    const record = this.moves.records.get(after.record);
    if (record === undefined) throw new Error('a commit without a record');
    const pair = after.pairs.find(({ id }) => id === record.creation?.price_list_id);
    const id = `${before.record} ${after.record} ${pair?.cost} ${pair?.price}`;
    if (this.#keyMoves.has(id)) return;
    this.#keyMoves.set(id, describeKeyMove(this.moves.records.get(before.record), record, [pair?.cost, pair?.price]));
  }

  #findChecked(violated: readonly Property[]): Property | undefined {
    return violated.find((property) => this.checked.has(property));
  }

  /** @returns the number of the state, an old one if the state is known */
  #addState(state: State, parent: number, step: string): number {
    const text = encodeState(state);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    if (number >= MAX_STATES) throw new Error(`${this.moves.scenario.name} has more than ${MAX_STATES} states`);
    this.#numbers.set(text, number);
    this.#front.push(state);
    this.#parents.push(parent);
    this.#steps.push(step);
    this.#depths.push(parent < 0 ? 0 : (this.#depths[parent] ?? 0) + 1);
    if (isSettled(state, this.moves)) this.#settled.push(number);
    return number;
  }

  /** Finds a state from which none that is settled can be reached without a fault: the one nearest to the first. */
  #findStuck(): Violation | null {
    if (!this.checked.has('liveness')) return null;
    const canSettle = this.#findThatCanSettle();
    const stuck = canSettle.indexOf(0);
    return stuck < 0 ? null : { property: 'liveness', path: this.#getPath(stuck) };
  }

  /** Goes from the settled states backwards. @returns 1 for each state that can reach one */
  #findThatCanSettle(): Uint8Array {
    const size = this.#numbers.size;
    // The moves into each state as a chain: the last of them, and before each move another one, or -1.
    const last = new Int32Array(size).fill(-1);
    const before = new Int32Array(this.#to.length);
    for (const [move, state] of this.#to.entries()) {
      before[move] = last[state] ?? -1;
      last[state] = move;
    }
    const canSettle = new Uint8Array(size);
    const open = [...this.#settled];
    for (const state of open) canSettle[state] = 1;
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      for (let move = last[state] ?? -1; move >= 0; move = before[move] ?? -1) {
        const from = this.#from[move] ?? 0;
        if (canSettle[from] === 1) continue;
        canSettle[from] = 1;
        open.push(from);
      }
    }
    return canSettle;
  }

  #getPath(number: number): string[] {
    const path: string[] = [];
    for (let at = number; at > 0; at = this.#parents[at] ?? 0) path.unshift(this.#steps[at] ?? '');
    return [...(this.moves.scenario.prologue ?? []), ...path];
  }
}
