#!/usr/bin/env bash
# Creates what docs/monitoring describes, and replaces what an earlier run has created.
# Usage: scripts/create-monitoring.sh PROJECT NOTIFICATION_CHANNEL
# Needs gcloud, curl and the role roles/monitoring.editor, with roles/logging.configWriter for the metrics.
set -euo pipefail
[ $# = 2 ] || { sed -n 2,4p "$0"; exit 64; }
project=$1 channel=$2
gcloud monitoring policies create --help > /dev/null 2>&1 || { echo 'This gcloud is too old: run gcloud components update.' >&2; exit 1; }
CDPATH='' cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cp -R docs/monitoring/. "$folder"
region=$(sed -n "s/^export const REGION = '\(.*\)';/\1/p" functions/src/lib/region.ts)
sed -i.bak "s/your-project/$project/g; s/us-central1/$region/g" "$folder"/*.json "$folder"/{alerts,uptime}/*.json

for file in "$folder"/metrics/*.json; do
  metric=$(basename "$file" .json)
  gcloud logging metrics update "$metric" --config-from-file="$file" --project="$project" 2> /dev/null ||
    gcloud logging metrics create "$metric" --config-from-file="$file" --project="$project"
done

# Sends a file to Google's API and prints the status of the response. `--disable` ignores ~/.curlrc.
send() {
  local method=$1 path=$2 file=$3
  # Passes the token through standard input, because every user of the machine sees the arguments of a program.
  printf 'header = "Authorization: Bearer %s"\n' "$(gcloud auth print-access-token)" |
    curl --disable --config - --silent --show-error --output "$folder/response" --write-out '%{http_code}' --request "$method" \
      --data "@$file" --header 'Content-Type: application/json' "https://monitoring.googleapis.com/v3/projects/$project/$path"
}

# Creates a resource with the id that the query names, or replaces it.
put() {
  local collection=$1 query=$2 file=$3 status
  status=$(send POST "$collection?$query" "$file")
  [ "$status" != 409 ] || status=$(send PATCH "$collection/${query#*=}" "$file")
  report "$collection/${query#*=}" "$status"
}

report() {
  echo "$1: $2"
  [[ $2 = 2?? ]] || { cat "$folder/response" >&2; return 1; }
}

service=organisation-data-and-price-lists
put services "serviceId=$service" "$folder/service.json"
for slo in "$folder"/slos/*.json; do
  put "services/$service/serviceLevelObjectives" "serviceLevelObjectiveId=$(basename "$slo" .json)" "$slo"
done

# Google chooses the ids of uptime checks, so an existing check is found by its display name.
for check in "$folder"/uptime/*.json; do
  name=$(sed -n 's/^  "displayName": "\(.*\)",*$/\1/p' "$check")
  id=$(gcloud monitoring uptime list-configs --filter="displayName=\"$name\"" --format='value(name.basename())' --project="$project")
  if [ -n "$id" ]; then
    report "$name" "$(send PATCH "uptimeCheckConfigs/$id" "$check")"
  else
    report "$name" "$(send POST uptimeCheckConfigs "$check")"
  fi
done

# Creates the new policies before it deletes the old ones, so that nothing is unwatched in between.
old_policies=$(gcloud monitoring policies list --filter='documentation.content~"What to do: docs/"' --format='value(name)' --project="$project")
for policy in "$folder"/alerts/*.json; do
  gcloud monitoring policies create --policy-from-file="$policy" --notification-channels="$channel" --project="$project"
done
for policy in $old_policies; do gcloud monitoring policies delete "$policy" --quiet; done

old_dashboards=$(gcloud monitoring dashboards list --filter='displayName="Organisation data and price lists"' --format='value(name)' --project="$project")
gcloud monitoring dashboards create --config-from-file="$folder/dashboard.json" --project="$project"
for dashboard in $old_dashboards; do gcloud monitoring dashboards delete "$dashboard" --quiet; done
