import { readdirSync, readFileSync } from 'node:fs';
import * as z from 'zod';

/**
 * The files in docs/monitoring, read by the fields that Google documents: LogMetric of the Logging API v2, and Service,
 * ServiceLevelObjective and AlertPolicy of the Monitoring API v3. A field that is not among them is an error.
 */

const FOLDER = 'docs/monitoring';

const text = z.string().min(1);
const filterSchema = text.max(2_048);
const durationSchema = z.string().regex(/^\d+s$/);

export const toSeconds = (duration: string): number => Number(duration.slice(0, -1));

const minutesSchema = durationSchema.refine((duration) => toSeconds(duration) % 60 === 0, 'whole minutes');

const explicitBucketsSchema = z.strictObject({
  explicitBuckets: z.strictObject({
    bounds: z
      .array(z.number())
      .min(1)
      .refine((bounds) => bounds.every((bound, i) => i === 0 || bound > (bounds[i - 1] ?? 0)), 'ascending'),
  }),
});
const exponentialBucketsSchema = z.strictObject({
  exponentialBuckets: z.strictObject({
    numFiniteBuckets: z.int().positive(),
    growthFactor: z.number().gt(1),
    scale: z.number().positive(),
  }),
});

const extractorSchema = z.string().regex(/^EXTRACT\(jsonPayload\.\w+\)$/);

const metricSchema = z
  .strictObject({
    name: text.max(100),
    description: text.max(8_000),
    filter: text.max(20_000),
    metricDescriptor: z.strictObject({
      metricKind: z.literal('DELTA'),
      valueType: z.enum(['INT64', 'DISTRIBUTION']),
      unit: text,
      labels: z.array(z.strictObject({ key: text, valueType: z.enum(['STRING', 'BOOL', 'INT64']) })),
    }),
    labelExtractors: z.record(text, extractorSchema),
    valueExtractor: extractorSchema.optional(),
    bucketOptions: z.union([explicitBucketsSchema, exponentialBucketsSchema]).optional(),
  })
  .refine(({ metricDescriptor, valueExtractor, bucketOptions }) => {
    const isDistribution = metricDescriptor.valueType === 'DISTRIBUTION';
    return (valueExtractor !== undefined) === isDistribution && (bucketOptions === undefined || isDistribution);
  }, 'a distribution, and nothing else, has a value')
  .refine(
    ({ metricDescriptor: { labels }, labelExtractors }) =>
      JSON.stringify(labels.map(({ key }) => key).sort()) === JSON.stringify(Object.keys(labelExtractors).sort()),
    'each label has an extractor',
  );

const serviceSchema = z.strictObject({ displayName: text, custom: z.strictObject({}) });

const rangeSchema = z.strictObject({ min: z.number().optional(), max: z.number().optional() });

const goodTotalRatioSchema = z
  .strictObject({
    goodServiceFilter: filterSchema.optional(),
    badServiceFilter: filterSchema.optional(),
    totalServiceFilter: filterSchema.optional(),
  })
  .refine((filters) => Object.keys(filters).length === 2, 'exactly two of good, bad and total');

const requestBasedSchema = z.union([
  z.strictObject({ goodTotalRatio: goodTotalRatioSchema }),
  z.strictObject({ distributionCut: z.strictObject({ distributionFilter: filterSchema, range: rangeSchema }) }),
]);

const DAY_SECONDS = 86_400;

const objectiveSchema = z.strictObject({
  displayName: text,
  goal: z.number().gt(0).max(0.9999),
  rollingPeriod: durationSchema.refine((period) => {
    const days = toSeconds(period) / DAY_SECONDS;
    return Number.isInteger(days) && days >= 1 && days <= 30;
  }, '1 to 30 days'),
  serviceLevelIndicator: z.strictObject({ requestBased: requestBasedSchema }),
});

const aggregationSchema = z.strictObject({
  alignmentPeriod: minutesSchema.refine((period) => toSeconds(period) >= 60, 'at least a minute'),
  perSeriesAligner: z.literal('ALIGN_DELTA'),
  crossSeriesReducer: z.enum(['REDUCE_SUM', 'REDUCE_PERCENTILE_95', 'REDUCE_PERCENTILE_99']),
  groupByFields: z.array(text),
});

const thresholdSchema = z.strictObject({
  filter: filterSchema,
  /** A selector of an objective has none. */
  aggregations: z.tuple([aggregationSchema]).optional(),
  comparison: z.enum(['COMPARISON_GT', 'COMPARISON_LT']),
  thresholdValue: z.number(),
  duration: minutesSchema,
  evaluationMissingData: z.literal('EVALUATION_MISSING_DATA_ACTIVE').optional(),
  trigger: z.strictObject({ count: z.literal(1) }),
});

const conditionSchema = z.union([
  z.strictObject({ displayName: text, conditionThreshold: thresholdSchema }),
  z.strictObject({
    displayName: text,
    conditionMatchedLog: z.strictObject({
      filter: text,
      labelExtractors: z.record(text, extractorSchema).optional(),
    }),
  }),
]);

const policySchema = z
  .strictObject({
    displayName: text.max(512),
    severity: z.enum(['CRITICAL', 'ERROR', 'WARNING']),
    combiner: z.enum(['AND', 'OR']),
    enabled: z.literal(true),
    documentation: z.strictObject({ mimeType: z.literal('text/markdown'), content: text.max(8_192) }),
    conditions: z.array(conditionSchema).min(1).max(6),
    alertStrategy: z.strictObject({
      autoClose: durationSchema.refine((duration) => toSeconds(duration) >= 1_800, 'at least 30 minutes'),
      notificationRateLimit: z.strictObject({ period: durationSchema }).optional(),
    }),
  })
  .refine(({ conditions, alertStrategy }) => {
    const isMatchedLog = conditions.some((condition) => 'conditionMatchedLog' in condition);
    const isLimited = alertStrategy.notificationRateLimit !== undefined;
    return isMatchedLog === isLimited && (!isMatchedLog || conditions.length === 1);
  }, 'a condition on log entries stands alone and has a rate limit, others have none');

export type LogMetric = z.output<typeof metricSchema>;
export type Objective = z.output<typeof objectiveSchema>;
export type AlertPolicy = z.output<typeof policySchema>;
export type Condition = AlertPolicy['conditions'][number];
export type Threshold = z.output<typeof thresholdSchema>;

/** A file of docs/monitoring: its path there, its name without an ending, and what is in it. */
interface MonitoringFile<T> {
  path: string;
  name: string;
  text: string;
  content: T;
}

const readFile = <T>(path: string, schema: z.ZodType<T>): MonitoringFile<T> => {
  const source = readFileSync(`${FOLDER}/${path}`, 'utf8');
  const parsed = schema.safeParse(JSON.parse(source));
  if (!parsed.success) throw new Error(`${FOLDER}/${path}: ${z.prettifyError(parsed.error)}`);
  return { path, name: path.replace(/^.*\/|\.json$/g, ''), text: source, content: parsed.data };
};

const readFolder = <T>(folder: string, schema: z.ZodType<T>) =>
  readdirSync(`${FOLDER}/${folder}`).map((file) => readFile(`${folder}/${file}`, schema));

export interface MonitoringFiles {
  metrics: MonitoringFile<LogMetric>[];
  objectives: MonitoringFile<Objective>[];
  policies: MonitoringFile<AlertPolicy>[];
  service: MonitoringFile<z.output<typeof serviceSchema>>;
  dashboard: MonitoringFile<unknown>;
}

/** @throws Error that names the file and the field */
export const readMonitoringFiles = (): MonitoringFiles => ({
  metrics: readFolder('metrics', metricSchema),
  objectives: readFolder('slos', objectiveSchema),
  policies: readFolder('alerts', policySchema),
  service: readFile('service.json', serviceSchema),
  dashboard: readFile('dashboard.json', z.unknown()),
});

/** The metrics' filters that an objective counts by. */
export function getObjectiveFilters({ serviceLevelIndicator: { requestBased } }: Objective): string[] {
  if ('distributionCut' in requestBased) return [requestBased.distributionCut.distributionFilter];
  return Object.values(requestBased.goodTotalRatio).filter((filter) => filter !== undefined);
}

/** What a selector of an objective's data names. */
export interface ObjectiveSelector {
  selector: string;
  service: string;
  objective: string;
  lookbackSeconds: number;
}

const SELECTOR =
  /^(select_slo_\w+)\("projects\/your-project\/services\/([a-z][a-z0-9-]*)\/serviceLevelObjectives\/([a-z][a-z0-9-]*)"(?:, "(\d+)s")?\)$/;

/** @returns undefined for a filter of a metric */
export function parseObjectiveSelector(filter: string): ObjectiveSelector | undefined {
  if (!filter.startsWith('select_slo_')) return undefined;
  const [, selector, service, objective, seconds] = SELECTOR.exec(filter) ?? [];
  if (selector === undefined || service === undefined || objective === undefined)
    throw new Error(`not a selector of an objective: ${filter}`);
  return { selector, service, objective, lookbackSeconds: Number(seconds ?? 0) };
}
