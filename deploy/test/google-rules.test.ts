import { globSync, readFileSync } from 'node:fs';
import loggingProtos from '@google-cloud/logging-api/build/protos/protos.json';
import dashboardProtos from '@google-cloud/monitoring-dashboards/build/protos/protos.json';
import monitoringProtos from '@google-cloud/monitoring/build/protos/protos.json';
import { fromProto3JSON, toProto3JSON } from 'proto3-json-serializer';
import { Root } from 'protobufjs';

/**
 * Checks the files of deploy/monitoring against Google's protos. Otherwise the API would be the first to reject a member, during a
 * deployment.
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
