import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import loggingProtos from '@google-cloud/logging-api/build/protos/protos.json';
import dashboardProtos from '@google-cloud/monitoring-dashboards/build/protos/protos.json';
import monitoringProtos from '@google-cloud/monitoring/build/protos/protos.json';
import { fromProto3JSON, toProto3JSON } from 'proto3-json-serializer';
import { Root } from 'protobufjs';

/**
 * Google's protos accept the files of docs/monitoring, and the files keep the rules that Google publishes beyond
 * the protos. Without these rules, the first that judges a file is the API, during a deployment.
 */

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

const TYPES = {
  alerts: [monitoringProtos, 'google.monitoring.v3.AlertPolicy'],
  slos: [monitoringProtos, 'google.monitoring.v3.ServiceLevelObjective'],
  uptime: [monitoringProtos, 'google.monitoring.v3.UptimeCheckConfig'],
  'service.json': [monitoringProtos, 'google.monitoring.v3.Service'],
  metrics: [loggingProtos, 'google.logging.v2.LogMetric'],
  'dashboard.json': [dashboardProtos, 'google.monitoring.dashboard.v1.Dashboard'],
} as const;

test.each(globSync('docs/monitoring/**/*.json'))('%s is what Google’s protos define, and nothing else', (path) => {
  const kind = path.split('/')[2] as keyof typeof TYPES;
  const [protos, type] = TYPES[kind];
  const file = readJson(path) as object;
  const message = fromProto3JSON(Root.fromJSON(protos).lookupType(type), file as never);
  // The conversion drops a member that the proto does not define.
  expect(message && toProto3JSON(message)).toMatchObject(file);
});

interface Policy {
  displayName: string;
  documentation: { content: string; mimeType: string };
  conditions: Condition[];
  alertStrategy: { autoClose: string; notificationRateLimit?: object };
}

interface Condition {
  conditionMatchedLog?: object;
  conditionThreshold?: {
    filter: string;
    aggregations?: { alignmentPeriod: string }[];
    comparison: string;
    duration: string;
    evaluationMissingData?: string;
  };
  conditionPrometheusQueryLanguage?: { query: string; duration: string; evaluationInterval: string };
}

interface Objective {
  goal: number;
  rollingPeriod: string;
  serviceLevelIndicator: {
    requestBased: { goodTotalRatio?: Record<string, string>; distributionCut?: { distributionFilter: string } };
  };
}

interface UptimeCheck {
  httpCheck: { requestMethod: string; contentType?: string; customContentType?: string; body?: string };
  contentMatchers: { content: string }[];
  period: string;
  timeout: string;
  selectedRegions: string[];
}

interface Metric {
  name: string;
  description: string;
  filter: string;
  metricDescriptor: { metricKind: string; valueType: string; labels?: { key: string }[] };
  labelExtractors?: Record<string, string>;
  valueExtractor?: string;
  bucketOptions?: object;
}

/** What Google says, where, and whether a file keeps to it. */
type Rule<File> = [quote: string, source: string, isKept: (file: File, name: string) => boolean];

const HOUR = 3_600;
const DAY = 24 * HOUR;
const seconds = (duration: string): number => Number(/^(\d+)s$/.exec(duration)?.[1]);
const isBetween = (value: number, least: number, most: number): boolean => value >= least && value <= most;
const thresholds = ({ conditions }: Policy) => conditions.flatMap((each) => each.conditionThreshold ?? []);
const queries = ({ conditions }: Policy) => conditions.flatMap((each) => each.conditionPrometheusQueryLanguage ?? []);
const periods = (policy: Policy) =>
  thresholds(policy).flatMap(({ aggregations = [] }) => aggregations.map((each) => seconds(each.alignmentPeriod)));
const isOfLogs = ({ conditions }: Policy) => conditions.some((each) => each.conditionMatchedLog !== undefined);

const POLICY_RULES: Rule<Policy>[] = [
  [
    'A policy can have from one to six conditions.',
    'alert.proto',
    ({ conditions }) => isBetween(conditions.length, 1, 6),
  ],
  [
    'To use this control, the value of the `duration` field must be greater than or equal to 60 seconds.',
    'alert.proto',
    (policy) =>
      thresholds(policy).every((each) => each.evaluationMissingData === undefined || seconds(each.duration) >= 60),
  ],
  [
    'The alignment period + duration of a request can’t be greater than 25h.',
    'https://github.com/chainguard-dev/terraform-infra-common/pull/783',
    (policy) =>
      thresholds(policy).every(({ duration, aggregations = [] }) =>
        aggregations.every(({ alignmentPeriod }) => seconds(alignmentPeriod) + seconds(duration) <= 25 * HOUR),
      ),
  ],
  [
    'The value must be at least 60 seconds.',
    'common.proto',
    (policy) => periods(policy).every((period) => period >= 60),
  ],
  [
    'alignment period must be in multiples of one minute',
    'https://github.com/hashicorp/terraform-provider-google/pull/10893',
    (policy) => periods(policy).every((period) => period % 60 === 0),
  ],
  [
    'Currently, only values that are a multiple of a minute--e.g., 0, 60, 120, or 300 seconds--are supported.',
    'alert.proto',
    (policy) => thresholds(policy).every(({ duration }) => seconds(duration) % 60 === 0),
  ],
  [
    'Only `COMPARISON_LT` and `COMPARISON_GT` are supported currently.',
    'alert.proto',
    (policy) => thresholds(policy).every(({ comparison }) => /^COMPARISON_[LG]T$/.test(comparison)),
  ],
  [
    'The filter must specify the metric type and the resource type.',
    'alert.proto',
    (policy) =>
      thresholds(policy).every(({ filter }) => /^select_slo_|^metric\.type="[^"]+" AND resource\.type="/.test(filter)),
  ],
  [
    'This field must not exceed 2048 Unicode characters in length.',
    'alert.proto',
    (policy) => thresholds(policy).every(({ filter }) => filter.length <= 2_048),
  ],
  [
    'Must be a positive multiple of 30 seconds or missing.',
    'alert.proto',
    (policy) => queries(policy).every((each) => /^[1-9]\d*$/.test(String(seconds(each.evaluationInterval) / 30))),
  ],
  [
    'Must be a non-negative duration or missing.',
    'alert.proto',
    (policy) => queries(policy).every(({ duration }) => seconds(duration) >= 0),
  ],
  [
    'A condition that checks for log messages matching given constraints. If set, no other conditions can be present.',
    'alert.proto',
    (policy) => !isOfLogs(policy) || policy.conditions.length === 1,
  ],
  [
    'Required for log-based alerting policies, i.e. policies with a `LogMatch` condition.',
    'alert.proto',
    (policy) => !isOfLogs(policy) || policy.alertStrategy.notificationRateLimit !== undefined,
  ],
  [
    'metric-based alert policies must not specify a notification rate limit',
    'https://github.com/chainguard-dev/terraform-infra-common/pull/352',
    (policy) => isOfLogs(policy) || policy.alertStrategy.notificationRateLimit === undefined,
  ],
  [
    'the autoclose duration should be at least 30 minutes',
    'https://github.com/nomadkaraoke/karaoke-gen/pull/788',
    ({ alertStrategy }) => seconds(alertStrategy.autoClose) >= HOUR / 2,
  ],
  [
    'The content may not exceed 8,192 Unicode characters',
    'alert.proto',
    ({ documentation }) => documentation.content.length <= 8_192,
  ],
  [
    'Presently, only the value `"text/markdown"` is supported.',
    'alert.proto',
    ({ documentation }) => documentation.mimeType === 'text/markdown',
  ],
];

const readMetric = (filter: string) =>
  readJson(`docs/monitoring/metrics/${/user\/(\w+)"/.exec(filter)?.[1]}.json`) as Metric;

const OBJECTIVE_RULES: Rule<Objective>[] = [
  ['`0 < goal <= 0.9999`.', 'service.proto', ({ goal }) => goal > 0 && goal <= 0.9999],
  [
    'Must be an integer multiple of 1 day no larger than 30 days.',
    'service.proto',
    ({ rollingPeriod }) => seconds(rollingPeriod) % DAY === 0 && isBetween(seconds(rollingPeriod), DAY, 30 * DAY),
  ],
  [
    'The `TimeSeriesRatio` must specify exactly two of good, bad, and total',
    'service.proto',
    ({ serviceLevelIndicator: { requestBased } }) => Object.keys(requestBased.goodTotalRatio ?? [1, 2]).length === 2,
  ],
  [
    'The specified `TimeSeries` must have `ValueType = DOUBLE` or `ValueType = INT64`',
    'service.proto',
    ({ serviceLevelIndicator: { requestBased } }) =>
      Object.values(requestBased.goodTotalRatio ?? {}).every(
        (filter) => readMetric(filter).metricDescriptor.valueType === 'INT64',
      ),
  ],
  [
    'The `TimeSeries` must have `ValueType = DISTRIBUTION`',
    'service.proto',
    ({ serviceLevelIndicator: { requestBased } }) =>
      requestBased.distributionCut === undefined ||
      readMetric(requestBased.distributionCut.distributionFilter).metricDescriptor.valueType === 'DISTRIBUTION',
  ],
  ['Must match the pattern `^[a-zA-Z0-9-_:.]+$`', 'service_service.proto', (_, name) => /^[\w:.-]+$/.test(name)],
];

const UPTIME_RULES: Rule<UptimeCheck>[] = [
  [
    'Currently, the only supported values are `60s` (1 minute), `300s` (5 minutes), `600s` (10 minutes), and `900s` (15 minutes).',
    'uptime.proto',
    ({ period }) => ['60s', '300s', '600s', '900s'].includes(period),
  ],
  ['must be between 1 and 60 seconds', 'uptime.proto', ({ timeout }) => isBetween(seconds(timeout), 1, 60)],
  [
    'enough regions must be provided to include a minimum of 3 locations',
    'uptime.proto',
    // Each region has at least one location.
    ({ selectedRegions }) => new Set(selectedRegions).size >= 3,
  ],
  [
    'Request method is `GET` and `content_type` is not `TYPE_UNSPECIFIED`',
    'uptime.proto',
    ({ httpCheck }) => httpCheck.requestMethod !== 'GET' || httpCheck.contentType === undefined,
  ],
  [
    'If the `request_method` is `GET` and `body` is not empty, the API will return an error.',
    'uptime.proto',
    ({ httpCheck }) => httpCheck.requestMethod !== 'GET' || httpCheck.body === undefined,
  ],
  [
    'Request method is `POST` and `content_type` is `TYPE_UNSPECIFIED`.',
    'uptime.proto',
    ({ httpCheck }) => httpCheck.requestMethod !== 'POST' || httpCheck.contentType !== undefined,
  ],
  [
    '`content_type` is `USER_PROVIDED` and `custom_content_type` is not set.',
    'uptime.proto',
    ({ httpCheck }) => httpCheck.contentType !== 'USER_PROVIDED' || httpCheck.customContentType !== undefined,
  ],
  [
    'only the first entry in the `content_matchers` list is supported',
    'uptime.proto',
    ({ contentMatchers }) => contentMatchers.length === 1,
  ],
];

const METRIC_RULES: Rule<Metric>[] = [
  [
    'Metric identifiers are limited to 100 characters and can include only the following characters',
    'logging_metrics.proto',
    (metric, name) => metric.name === name && /^\w{1,100}$/.test(name),
  ],
  [
    'The maximum length of the filter is 20000 characters.',
    'logging_metrics.proto',
    ({ filter }) => filter.length <= 20_000,
  ],
  [
    'Each label in the metric descriptor must have a matching label name as the key and an extractor expression as the value in the `label_extractors` map.',
    'logging_metrics.proto',
    ({ metricDescriptor: { labels = [] }, labelExtractors = {} }) =>
      labels.map(({ key }) => key).join() === Object.keys(labelExtractors).join(),
  ],
  [
    'a DELTA metric kind with a DISTRIBUTION value type must be used along with a `value_extractor` expression',
    'logging_metrics.proto',
    ({ metricDescriptor, valueExtractor }) =>
      metricDescriptor.metricKind === 'DELTA' &&
      (metricDescriptor.valueType === 'DISTRIBUTION') === (valueExtractor !== undefined),
  ],
  [
    'The `bucket_options` are required when the logs-based metric is using a DISTRIBUTION value type',
    'logging_metrics.proto',
    ({ metricDescriptor, bucketOptions }) =>
      metricDescriptor.valueType !== 'DISTRIBUTION' || bucketOptions !== undefined,
  ],
];

const listRules = <File>(folder: string, rules: Rule<File>[]) =>
  rules.map(([quote, source, isKept]) => {
    const files = globSync(`docs/monitoring/${folder}/*.json`);
    const findBroken = () => files.filter((path) => !isKept(readJson(path) as File, basename(path, '.json')));
    return { folder, quote, source, findBroken };
  });

const RULES = [
  ...listRules('alerts', POLICY_RULES),
  ...listRules('slos', OBJECTIVE_RULES),
  ...listRules('uptime', UPTIME_RULES),
  ...listRules('metrics', METRIC_RULES),
];

test.each(RULES)('$folder keep the rule: $quote ($source)', ({ findBroken }) => {
  expect(findBroken()).toEqual([]);
});

test.each(RULES.filter(({ source }) => source.endsWith('.proto')))('$source says: $quote', ({ source, quote }) => {
  const [path = ''] = globSync(`node_modules/@google-cloud/{monitoring,logging-api}/build/protos/google/**/${source}`);
  const comments = readFileSync(path, 'utf8').replace(/^\s*\/\/ ?/gm, '');
  expect(comments.replace(/\s+/g, ' ')).toContain(quote);
});
