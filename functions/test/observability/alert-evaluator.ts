import { parseFilter, toText, type Lookup } from './filter';
import {
  parseObjectiveSelector,
  toSeconds,
  type AlertPolicy,
  type Condition,
  type LogMetric,
  type MonitoringFiles,
  type Objective,
  type Threshold,
} from './monitoring-files';

/**
 * Says which alerts of docs/monitoring fire for a log, by the filters, objectives and thresholds of the files themselves.
 * It looks once a minute, as Cloud Monitoring does. Metrics of the platform, such as memory, have no data here.
 */

/** An entry as Cloud Logging stores it. `at`: milliseconds since the start of the log. */
export interface LogEntry {
  at: number;
  /** By default that of a function. */
  resourceType?: string;
  severity?: string;
  textPayload?: string;
  jsonPayload?: Readonly<Record<string, unknown>>;
}

const MINUTE_MS = 60_000;
const LOG_METRIC = 'logging.googleapis.com/user/';
const METRIC_LABEL = 'metric.label.';
const JSON_PAYLOAD = 'jsonPayload.';
const RESOURCE_TYPE = 'cloud_run_revision';

/** What one entry adds to a metric. `value`: only of a distribution. */
interface Point {
  minute: number;
  labels: Record<string, string>;
  value: number;
}

/** Points of a list: from one index up to another, which is not among them. */
interface Span {
  from: number;
  to: number;
}

/** A condition at each minute: whether it is met. */
type Verdicts = boolean[];

/** @returns names of the policies that fire, sorted */
export function findFiringAlerts(files: MonitoringFiles, log: readonly LogEntry[]): string[] {
  const evaluator = new Evaluator(files, log);
  return files.policies
    .filter(({ content }) => evaluator.fires(content))
    .map(({ name }) => name)
    .sort();
}

class Evaluator {
  readonly #minutes: number;
  readonly #points = new Map<string, Point[]>();

  constructor(
    private readonly files: MonitoringFiles,
    private readonly log: readonly LogEntry[],
  ) {
    this.#minutes = toMinute(log.at(-1)?.at ?? 0) + 1;
    for (const { content } of files.metrics) this.#points.set(content.name, readPoints(content, log));
  }

  fires({ combiner, conditions }: AlertPolicy): boolean {
    const verdicts = conditions.map((condition) => this.#evaluate(condition));
    const isMet = (minute: number) => {
      const met = verdicts.map((each) => each[minute] === true);
      return combiner === 'AND' ? met.every(Boolean) : met.some(Boolean);
    };
    return Array.from({ length: this.#minutes }, (_, minute) => minute).some(isMet);
  }

  #evaluate(condition: Condition): Verdicts {
    if ('conditionMatchedLog' in condition) return this.#matchLog(condition.conditionMatchedLog.filter);
    const threshold = condition.conditionThreshold;
    const minutes = Math.max(1, toSeconds(threshold.duration) / 60);
    // A condition is met when one series violates it in each minute of its duration.
    const series = this.#readSeries(threshold).map((values) =>
      values.map((value) => isViolated(value, threshold)).map((_, at, all) => isHeld(all, at, minutes)),
    );
    return Array.from({ length: this.#minutes }, (_, at) => series.some((verdicts) => verdicts[at]));
  }

  #matchLog(filter: string): Verdicts {
    const matches = parseFilter(filter);
    const verdicts: Verdicts = [];
    for (const entry of this.log) if (matches(toEntryLookup(entry))) verdicts[toMinute(entry.at)] = true;
    return verdicts;
  }

  /** Returns the values of each series of a condition, one per minute. */
  #readSeries({ filter, aggregations }: Threshold): (number | undefined)[][] {
    const selector = parseObjectiveSelector(filter);
    if (selector !== undefined) return [this.#readBurnRate(selector.objective, selector.lookbackSeconds / 60)];
    const [aggregation] = aggregations ?? [];
    if (aggregation === undefined) throw new Error(`no aggregation: ${filter}`);
    const points = this.#selectPoints(filter);
    const labels = aggregation.groupByFields.map((field) => field.slice(METRIC_LABEL.length));
    const groups = groupBy(points, (point) => labels.map((label) => point.labels[label]).join());
    // Without data there is one series still, whose values are missing.
    if (groups.size === 0) groups.set('', []);
    const period = toSeconds(aggregation.alignmentPeriod) / 60;
    if (aggregation.crossSeriesReducer === 'REDUCE_SUM') {
      const toCount = ({ from, to }: Span) => (to === from ? undefined : to - from);
      return [...groups.values()].map((group) => this.#slide(group, period).map(toCount));
    }
    const part = Number(/\d+$/.exec(aggregation.crossSeriesReducer)?.[0]) / 100;
    return [...groups.values()].map((group) =>
      this.#slide(group, period).map(({ from, to }) => getPercentile(group.slice(from, to), part)),
    );
  }

  /** Returns the part of failures over the look-back period, in multiples of what the goal allows; missing without traffic. */
  #readBurnRate(name: string, lookback: number): (number | undefined)[] {
    const objective = this.files.objectives.find((each) => each.name === name)?.content;
    if (objective === undefined) throw new Error(`there is no objective ${name}`);
    const { good, bad } = this.#countService(objective);
    const goods = this.#slide(good, lookback).map(({ from, to }) => to - from);
    return this.#slide(bad, lookback).map(({ from, to }, minute) => {
      const missed = to - from;
      const total = missed + (goods[minute] ?? 0);
      return total === 0 ? undefined : missed / total / (1 - objective.goal);
    });
  }

  #countService({ serviceLevelIndicator: { requestBased } }: Objective): { good: Point[]; bad: Point[] } {
    if ('goodTotalRatio' in requestBased) {
      const { goodServiceFilter, badServiceFilter } = requestBased.goodTotalRatio;
      if (goodServiceFilter === undefined || badServiceFilter === undefined)
        throw new Error('an objective is counted by what is good and what is bad');
      return { good: this.#selectPoints(goodServiceFilter), bad: this.#selectPoints(badServiceFilter) };
    }
    const { distributionFilter, range } = requestBased.distributionCut;
    const points = this.#selectPoints(distributionFilter);
    const isGood = ({ value }: Point) => value >= (range.min ?? -Infinity) && value < (range.max ?? Infinity);
    return { good: points.filter(isGood), bad: points.filter((point) => !isGood(point)) };
  }

  #selectPoints(filter: string): Point[] {
    const matches = parseFilter(filter);
    const name = /metric\.type="([^"]+)"/.exec(filter)?.[1] ?? '';
    if (!name.startsWith(LOG_METRIC)) return [];
    const points = this.#points.get(name.slice(LOG_METRIC.length));
    if (points === undefined) throw new Error(`there is no metric ${name}`);
    return points.filter(({ labels }) =>
      matches((path) => {
        if (path === 'metric.type') return name;
        return path === 'resource.type' ? RESOURCE_TYPE : labels[path.slice(METRIC_LABEL.length)];
      }),
    );
  }

  /** Returns, for each minute, which of the points are in the period that ends with it. */
  #slide(points: readonly Point[], period: number): Span[] {
    let from = 0;
    let to = 0;
    return Array.from({ length: this.#minutes }, (_, minute) => {
      while (to < points.length && (points[to]?.minute ?? 0) <= minute) to += 1;
      while (from < to && (points[from]?.minute ?? 0) <= minute - period) from += 1;
      return { from, to };
    });
  }
}

const toMinute = (at: number) => Math.floor(at / MINUTE_MS);

function toEntryLookup({ resourceType, severity, textPayload, jsonPayload }: LogEntry): Lookup {
  return (path) => {
    if (path === 'resource.type') return resourceType ?? RESOURCE_TYPE;
    if (path === 'severity') return severity ?? 'DEFAULT';
    if (path === 'textPayload') return textPayload;
    return jsonPayload?.[path.slice(JSON_PAYLOAD.length)];
  };
}

function readPoints({ filter, labelExtractors, valueExtractor }: LogMetric, log: readonly LogEntry[]): Point[] {
  const matches = parseFilter(filter);
  const extract = (entry: LogEntry, extractor: string) =>
    toEntryLookup(entry)(extractor.replace(/^EXTRACT\(|\)$/g, ''));
  return log
    .filter((entry) => matches(toEntryLookup(entry)))
    .map((entry) => ({
      minute: toMinute(entry.at),
      labels: Object.fromEntries(
        Object.entries(labelExtractors).map(([label, extractor]) => [label, toText(extract(entry, extractor))]),
      ),
      value: valueExtractor === undefined ? 1 : Number(extract(entry, valueExtractor)),
    }));
}

function isViolated(
  value: number | undefined,
  { comparison, thresholdValue, evaluationMissingData }: Threshold,
): boolean {
  if (value === undefined) return evaluationMissingData !== undefined;
  return comparison === 'COMPARISON_GT' ? value > thresholdValue : value < thresholdValue;
}

const isHeld = (violations: readonly boolean[], at: number, minutes: number): boolean =>
  at + 1 >= minutes && violations.slice(at + 1 - minutes, at + 1).every(Boolean);

/** Of the values themselves: Cloud Monitoring estimates it from the buckets. */
function getPercentile(points: readonly Point[], part: number): number | undefined {
  const values = points.map(({ value }) => value).sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(part * values.length))];
}

function groupBy(points: readonly Point[], toKey: (point: Point) => string): Map<string, Point[]> {
  const groups = new Map<string, Point[]>();
  for (const point of points) {
    const key = toKey(point);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [point]);
    else group.push(point);
  }
  return groups;
}
