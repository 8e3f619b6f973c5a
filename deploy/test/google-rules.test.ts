import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import loggingProtos from '@google-cloud/logging-api/build/protos/protos.json';
import dashboardProtos from '@google-cloud/monitoring-dashboards/build/protos/protos.json';
import monitoringProtos from '@google-cloud/monitoring/build/protos/protos.json';
import { fromProto3JSON, toProto3JSON } from 'proto3-json-serializer';
import { Root } from 'protobufjs';

/**
 * Checks the files of deploy/monitoring against Google's protos, and against rules that the protos state only in comments
 * or that Google publishes elsewhere. Otherwise the API would be the first to reject a file, during a deployment.
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

test.each(globSync('deploy/monitoring/**/*.json'))('%s has only members that Google’s protos define', (path) => {
  const kind = path.split('/')[2] as keyof typeof TYPES;
  const [protos, type] = TYPES[kind];
  const file = readJson(path) as object;
  const message = fromProto3JSON(Root.fromJSON(protos).lookupType(type), file as never);
  // The conversion drops a member that the proto does not define.
  expect(message && toProto3JSON(message)).toMatchObject(file);
});

/** Checks of a file, by the source and the words of a rule. A source is a proto, a page of Google, or a report of an error. */
type Rules<File> = Record<string, Record<string, (file: File, name: string) => boolean>>;

interface Threshold {
  filter: string;
  aggregations?: { alignmentPeriod: string }[];
  comparison: string;
  duration: string;
  evaluationMissingData?: string;
}

interface Policy {
  documentation: { mimeType: string };
  conditions: {
    conditionMatchedLog?: object;
    conditionThreshold?: Threshold;
    conditionPrometheusQueryLanguage?: { query: string; evaluationInterval: string };
  }[];
  alertStrategy: { autoClose: string; notificationRateLimit?: object };
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const seconds = (duration = ''): number => Number(/^(\d+)s$/.exec(duration)?.[1]);
const isBetween = (value: number, least: number, most: number): boolean => value >= least && value <= most;
const isOfLogs = ({ conditions }: Policy) => conditions.some((each) => each.conditionMatchedLog !== undefined);
const hasRateLimit = ({ alertStrategy }: Policy) => alertStrategy.notificationRateLimit !== undefined;

const everyThreshold = (isKept: (threshold: Threshold, periods: number[]) => boolean) => (policy: Policy) =>
  policy.conditions
    .flatMap((each) => each.conditionThreshold ?? [])
    .every((each) =>
      isKept(
        each,
        (each.aggregations ?? []).map((aggregation) => seconds(aggregation.alignmentPeriod)),
      ),
    );

type Query = NonNullable<Policy['conditions'][number]['conditionPrometheusQueryLanguage']>;

const everyQuery = (isKept: (query: Query) => boolean) => (policy: Policy) =>
  policy.conditions.flatMap((each) => each.conditionPrometheusQueryLanguage ?? []).every(isKept);

const POLICY_RULES: Rules<Policy> = {
  'alert.proto': {
    'from one to six conditions': ({ conditions }) => isBetween(conditions.length, 1, 6),
    'To use this control, the value of the `duration` field must be greater than or equal to 60 seconds.':
      everyThreshold((each) => each.evaluationMissingData === undefined || seconds(each.duration) >= MINUTE),
    'Currently, only values that are a multiple of a minute--e.g., 0, 60, 120, or 300 seconds--are supported.':
      everyThreshold((each) => seconds(each.duration) % MINUTE === 0),
    'Only `COMPARISON_LT` and `COMPARISON_GT` are supported currently.': everyThreshold((each) =>
      /^COMPARISON_[LG]T$/.test(each.comparison),
    ),
    'The filter must specify the metric type and the resource type.': everyThreshold((each) =>
      /^select_slo_|^metric\.type="[^"]+" AND resource\.type="/.test(each.filter),
    ),
    'Must be a positive multiple of 30 seconds or missing.': everyQuery(
      (each) => seconds(each.evaluationInterval) > 0 && seconds(each.evaluationInterval) % 30 === 0,
    ),
    'checks for log messages matching given constraints. If set, no other conditions can be present.': (policy) =>
      !isOfLogs(policy) || policy.conditions.length === 1,
    'Required for log-based alerting policies, i.e. policies with a `LogMatch` condition.': (policy) =>
      !isOfLogs(policy) || hasRateLimit(policy),
    'Presently, only the value `"text/markdown"` is supported.': ({ documentation }) =>
      documentation.mimeType === 'text/markdown',
  },
  'https://github.com/chainguard-dev/terraform-infra-common/pull/783': {
    'The alignment period + duration of a request can’t be greater than 25h.': everyThreshold((each, periods) =>
      periods.every((period) => period + seconds(each.duration) <= 25 * HOUR),
    ),
  },
  'common.proto': {
    'The value must be at least 60 seconds.': everyThreshold((_, periods) =>
      periods.every((period) => period >= MINUTE),
    ),
  },
  'https://github.com/hashicorp/terraform-provider-google/pull/10893': {
    'alignment period must be in multiples of one minute': everyThreshold((_, periods) =>
      periods.every((period) => period % MINUTE === 0),
    ),
  },
  'https://docs.cloud.google.com/monitoring/alerts/using-promql': {
    'These policies can evaluate up to 2 years of metric data.': everyQuery((each) =>
      [...each.query.matchAll(/\[(\d+)d\]/g)].every(([, days]) => Number(days) <= 730),
    ),
  },
  'https://github.com/chainguard-dev/terraform-infra-common/pull/352': {
    'metric-based alert policies must not specify a notification rate limit': (policy) =>
      isOfLogs(policy) || !hasRateLimit(policy),
  },
  'https://github.com/nomadkaraoke/karaoke-gen/pull/788': {
    'the autoclose duration should be at least 30 minutes': ({ alertStrategy }) =>
      seconds(alertStrategy.autoClose) >= 30 * MINUTE,
  },
};

interface Objective {
  goal: number;
  rollingPeriod: string;
  serviceLevelIndicator: {
    requestBased: { goodTotalRatio?: Record<string, string>; distributionCut?: { distributionFilter: string } };
  };
}

interface Metric {
  name: string;
  metricDescriptor: { metricKind: string; valueType: string; labels?: { key: string }[] };
  labelExtractors?: Record<string, string>;
  valueExtractor?: string;
  bucketOptions?: object;
}

/** Returns whether a filter selects a metric with this type of values. */
const isOf = (type: string, filter: string): boolean => {
  const metric = readJson(`deploy/monitoring/metrics/${/user\/(\w+)"/.exec(filter)?.[1]}.json`) as Metric;
  return metric.metricDescriptor.valueType === type;
};

const OBJECTIVE_RULES: Rules<Objective> = {
  'service.proto': {
    '`0 < goal <= 0.9999`': ({ goal }) => goal > 0 && goal <= 0.9999,
    'Must be an integer multiple of 1 day no larger than 30 days.': ({ rollingPeriod }) =>
      [...Array(30).keys()].some((days) => rollingPeriod === `${(days + 1) * DAY}s`),
    'must specify exactly two of good, bad, and total': ({ serviceLevelIndicator: { requestBased } }) =>
      Object.keys(requestBased.goodTotalRatio ?? [1, 2]).length === 2,
    'must have `ValueType = DOUBLE` or `ValueType = INT64`': ({ serviceLevelIndicator: { requestBased } }) =>
      Object.values(requestBased.goodTotalRatio ?? {}).every((filter) => isOf('INT64', filter)),
    'The `TimeSeries` must have `ValueType = DISTRIBUTION`': ({ serviceLevelIndicator: { requestBased } }) =>
      requestBased.distributionCut === undefined ||
      isOf('DISTRIBUTION', requestBased.distributionCut.distributionFilter),
  },
};

interface UptimeCheck {
  httpCheck: { requestMethod: string; contentType?: string; customContentType?: string; body?: string };
  contentMatchers: unknown[];
  period: string;
  timeout: string;
  selectedRegions: string[];
}

const UPTIME_RULES: Rules<UptimeCheck> = {
  'uptime.proto': {
    '`60s` (1 minute), `300s` (5 minutes), `600s` (10 minutes), and `900s` (15 minutes)': ({ period }) =>
      ['60s', '300s', '600s', '900s'].includes(period),
    'must be between 1 and 60 seconds': ({ timeout }) => isBetween(seconds(timeout), 1, 60),
    // Each region has at least one location.
    'a minimum of 3 locations': ({ selectedRegions }) => new Set(selectedRegions).size >= 3,
    'Request method is `GET` and `content_type` is not `TYPE_UNSPECIFIED`': ({ httpCheck }) =>
      httpCheck.requestMethod !== 'GET' || httpCheck.contentType === undefined,
    'If the `request_method` is `GET` and `body` is not empty, the API will return an error.': ({ httpCheck }) =>
      httpCheck.requestMethod !== 'GET' || httpCheck.body === undefined,
    'Request method is `POST` and `content_type` is `TYPE_UNSPECIFIED`.': ({ httpCheck }) =>
      httpCheck.requestMethod !== 'POST' || httpCheck.contentType !== undefined,
    '`content_type` is `USER_PROVIDED` and `custom_content_type` is not set.': ({ httpCheck }) =>
      (httpCheck.contentType === undefined) === (httpCheck.customContentType === undefined),
    'only the first entry': ({ contentMatchers }) => contentMatchers.length === 1,
  },
};

const METRIC_RULES: Rules<Metric> = {
  'logging_metrics.proto': {
    'limited to 100 characters': (metric, name) => metric.name === name && name.length <= 100,
    'Each label in the metric descriptor must have a matching label name as the key and an extractor expression': ({
      metricDescriptor: { labels = [] },
      labelExtractors = {},
    }) => labels.map(({ key }) => key).join() === Object.keys(labelExtractors).join(),
    'a DELTA metric kind with a DISTRIBUTION value type must be used along with a `value_extractor` expression': ({
      metricDescriptor: { metricKind, valueType },
      valueExtractor,
    }) => metricKind === 'DELTA' && (valueType === 'DISTRIBUTION') === (valueExtractor !== undefined),
    'The `bucket_options` are required when the logs-based metric is using a DISTRIBUTION value type': ({
      metricDescriptor,
      bucketOptions,
    }) => (metricDescriptor.valueType === 'DISTRIBUTION') === (bucketOptions !== undefined),
  },
};

const listRules = <File>(folder: string, rules: Rules<File>) =>
  Object.entries(rules).flatMap(([source, quotes]) =>
    Object.entries(quotes).map(([quote, isKept]) => {
      const files = globSync(`deploy/monitoring/${folder}/*.json`);
      const findBroken = () => files.filter((path) => !isKept(readJson(path) as File, basename(path, '.json')));
      return { folder, quote, source, findBroken };
    }),
  );

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
