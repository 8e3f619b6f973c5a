import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operationNames } from '../../dev/run/operations';
import { runProgramSync } from '../../dev/run/programs';
import * as functions from '../../functions/src';

/**
 * Runs deploy/create-monitoring.sh with stubs of gcloud and curl, which refuse the files whose names are in REFUSE, and cannot
 * send those in LOST.
 */

const STUB = `#!/bin/bash
echo "$(basename "$0") $*" >> "$CALLS"
for argument; do
  file=\${argument##*[=@]}
  case $file in *.json) cat "$file" >> "$SENT" ;; esac
done
case "$*" in
  *print-access-token*) echo token ;;
  *'metrics describe'*) [ -n "$OLD" ] ;;
  *'uptime list-configs'*) [ -z "$OLD" ] || printf 'check-1\\ncheck-2\\n' ;;
  *'policies list'*) printf '%b' "$OLD" ;;
  *'dashboards list'*) [ -z "$OLD" ] || echo dashboard-1 ;;
  */*.json*)
    [[ "$*" =~ --output\\ ([^ ]+) ]] && response=\${BASH_REMATCH[1]} || response=/dev/stderr
    for name in $LOST; do
      if [[ "$*" = */$name.json* ]]; then echo "curl: (7) no connection for $name" >&2; exit 7; fi
    done
    refusal="INVALID_ARGUMENT: Google's reason for"
    for name in $REFUSE; do
      if [[ "$*" = */$name.json* ]]; then echo "$refusal $name" > "$response"; status=400; fi
    done
    # Google updates only some fields of a check, and not its host.
    if [[ "$*" = *PATCH*uptimeCheckConfigs* ]]; then echo "$refusal PATCH" > "$response"; status=400; fi
    # A resource that exists already can only be replaced.
    [[ -z $OLD || "$*" != *'request POST'*Id=* ]] || status=409
    if [ "$(basename "$0")" = curl ]; then printf '%s' "\${status:-200}"; else [ -z "$status" ]; fi ;;
esac
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'create-monitoring-'));
  for (const name of ['gcloud', 'curl']) writeFileSync(join(folder, name), STUB, { mode: 0o755 });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** @param old the policies of an earlier run: ids and display names */
function run({ refuse = '', lost = '', old = '' } = {}) {
  const calls = join(folder, 'calls');
  const sent = join(folder, 'sent');
  const PATH = `${folder}:${process.env['PATH']}`;
  const env = { PATH, CALLS: calls, SENT: sent, REFUSE: refuse, LOST: lost, OLD: old };
  const { status, stdout, stderr } = runProgramSync(
    'bash',
    ['deploy/create-monitoring.sh', 'my-project', 'channel-1'],
    { env },
  );
  return { status, stdout, stderr, calls: readFileSync(calls, 'utf8'), texts: readFileSync(sent, 'utf8') };
}

const files = globSync('deploy/monitoring/**/*.json').sort();
const sent = (stdout: string) => [...stdout.matchAll(/^Sent: (.*)$/gm)].map(([, file]) => file).sort();
const OLD = 'policy-1\\tThe sweep has stopped, or price lists are paused\\npolicy-2\\tRemoved since\\n';

test('in a first deployment, the script sends every file, and exits with 0', () => {
  const { status, stdout, stderr, calls } = run();
  expect([status, stderr]).toEqual([0, '']);
  expect(sent(stdout)).toEqual(files);
  expect(calls).not.toMatch(/update|PATCH|delete/);
});

test('the script fills in the project, and the names of all functions, operations or reads', () => {
  const { texts } = run();
  expect(texts).not.toMatch(/your-project|EVERY_/);
  const lists = texts.matchAll(/service_name=(?:~|monitoring\.regex\.full_match)\W+([\w|]+)/g);
  const reads = operationNames.filter((name) => name !== 'addPriceLists');
  const kinds = [Object.keys(functions), operationNames, reads];
  const expected = kinds.map((names) => names.map((name) => name.toLowerCase()).sort());
  expect(new Set([...lists].map(([, list]) => list))).toEqual(new Set(expected.map((names) => names.join('|'))));
});

test('the script replaces what an earlier run has created', () => {
  const { status, stdout, calls } = run({ old: OLD });
  expect(status).toBe(0);
  expect(sent(stdout)).toEqual(files);
  expect(calls).toMatch(/metrics update audits /);
  expect(calls).toMatch(/--request PATCH .*\/services\/organisation-data-and-price-lists$/m);
  expect(calls).toMatch(/--request PATCH .*\/serviceLevelObjectives\/read-latency$/m);
  const replaced = ['uptime delete check-1', 'uptime delete check-2', 'dashboards delete dashboard-1'];
  for (const name of ['policies delete policy-1', 'policies delete policy-2', ...replaced])
    expect(calls).toContain(name);
});

test.each([
  ['a first deployment', ''],
  ['a later deployment', OLD],
])(
  'in %s, the script continues after refused files, keeps what they would replace, names each with the reason, and exits with 1',
  (_, old) => {
    const names = ['audits', 'read-latency', 'getTeams', 'sweep-stopped', 'dashboard'];
    const { status, stdout, stderr, calls } = run({ refuse: names.join(' '), old });
    expect(status).toBe(1);
    const refused = files.filter((file) => names.some((name) => file.endsWith(`/${name}.json`)));
    expect(sent(stdout)).toEqual(files.filter((file) => !refused.includes(file)));
    for (const name of names)
      expect(stderr).toMatch(new RegExp(`/${name}\\.json: INVALID_ARGUMENT: Google's reason for ${name}$`, 'm'));
    expect(calls.includes('policies delete policy-2')).toBe(old === OLD);
    expect(calls.match(/uptime delete check-1/g) ?? []).toHaveLength(old === OLD ? operationNames.length - 1 : 0);
    const advice = 'gcloud logging metrics delete audits --project=my-project';
    expect(stderr.includes(advice)).toBe(old === OLD);
    expect(calls).not.toMatch(/policies delete policy-1|dashboards delete/);
  },
);

test('a file that cannot be sent is named with the error of curl, without the response to an earlier file', () => {
  const { status, stderr } = run({ refuse: 'service', lost: 'read-latency' });
  expect(status).toBe(1);
  expect(stderr).toMatch(/\/read-latency\.json: curl: \(7\) no connection for read-latency$/m);
  expect(stderr.match(/reason for service/g)).toHaveLength(1);
});
