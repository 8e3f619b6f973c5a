import type { Stats } from './measure';
import { operations, type BenchDatabase, type Operation } from './stack';

/** A measured value. */
export interface BenchMetric {
  scenario: string;
  metric: string;
  value: number;
  unit: string;
  spread?: Stats;
  /** Absent for information. */
  target?: Target;
}

export interface Target {
  text: string;
  passed: boolean;
  /** Whether a miss fails the bench: true for calls and memory, which do not depend on how busy the machine is. */
  enforced: boolean;
}

export interface BenchPlan {
  teams: number;
  /** With 0 rounds only calls and memory are measured. */
  orders: readonly { size: number; rounds: number }[];
  priceLists: readonly { size: number; rounds: number }[];
  validation: { products: number; runs: number };
  /** Rounds of the cold start and of the small reads. */
  coldStarts: number;
  coldStartFunctions: readonly Operation[];
  loadMs: number;
  /** Processes in which a memory peak is measured: it depends on when garbage is collected. */
  memoryRounds: number;
  /** Whether to run the scenarios that need the largest sizes. */
  isFull: boolean;
}

export const plans: Record<'full' | 'quick', BenchPlan> = {
  full: {
    teams: 10_000,
    orders: [
      { size: 1_000, rounds: 9 },
      { size: 10_000, rounds: 9 },
      { size: 100_000, rounds: 3 },
      { size: 300_000, rounds: 3 },
    ],
    priceLists: [
      { size: 1_000, rounds: 9 },
      { size: 10_000, rounds: 5 },
      { size: 100_000, rounds: 3 },
    ],
    validation: { products: 100_000, runs: 15 },
    coldStarts: 9,
    coldStartFunctions: operations,
    loadMs: 2_000,
    memoryRounds: 3,
    isFull: true,
  },
  quick: {
    teams: 1_000,
    orders: [
      { size: 1_000, rounds: 1 },
      { size: 10_000, rounds: 0 },
      { size: 100_000, rounds: 0 },
    ],
    priceLists: [
      { size: 1_000, rounds: 1 },
      { size: 100_000, rounds: 0 },
    ],
    validation: { products: 100_000, runs: 3 },
    coldStarts: 1,
    coldStartFunctions: ['getMarkets'],
    loadMs: 500,
    memoryRounds: 1,
    isFull: false,
  },
};

/** What a scenario gets. */
export interface BenchContext {
  plan: BenchPlan;
  database: BenchDatabase;
  add: (metric: BenchMetric) => void;
  onProgress: (step: string) => void;
}

export const atMost = (bound: number, value: number, enforced = false): Target => ({
  text: `≤ ${bound}`,
  passed: value <= bound,
  enforced,
});
export const atLeast = (bound: number, value: number): Target => ({
  text: `≥ ${bound}`,
  passed: value >= bound,
  enforced: false,
});
export const exactly = (bound: number, value: number): Target => ({
  text: `= ${bound}`,
  passed: value === bound,
  enforced: true,
});
export const booleanMetric = (passed: boolean) => ({
  value: Number(passed),
  unit: '',
  target: { text: 'yes', passed, enforced: true },
});

export const formatCount = (number: number) => number.toLocaleString('en');
