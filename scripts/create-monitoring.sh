#!/usr/bin/env bash
# Creates what docs/monitoring describes. Replaces metrics, policies and the dashboard; objectives and uptime checks that exist stay.
# Usage: scripts/create-monitoring.sh PROJECT NOTIFICATION_CHANNEL
# Needs gcloud, curl and the role roles/monitoring.editor, with roles/logging.configWriter for the metrics.
set -euo pipefail
[ $# = 2 ] || { sed -n 2,4p "$0"; exit 64; }
project=$1 channel=$2
cd "$(dirname "$0")/.."
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

# 409 means that it exists already. `--disable` ignores ~/.curlrc.
post() {
  local status
  status=$(curl --disable --silent --show-error --output "$folder/response" --write-out '%{http_code}' --data "@$2" \
    --header "Authorization: Bearer $(gcloud auth print-access-token)" --header 'Content-Type: application/json' \
    "https://monitoring.googleapis.com/v3/projects/$project/$1")
  case $status in
    2?? | 409) echo "$1: $status" ;;
    *) cat "$folder/response" >&2; return 1 ;;
  esac
}
service=organisation-data-and-price-lists
post "services?serviceId=$service" "$folder/service.json"
for slo in "$folder"/slos/*.json; do
  post "services/$service/serviceLevelObjectives?serviceLevelObjectiveId=$(basename "$slo" .json)" "$slo"
done

existing=$(gcloud monitoring uptime list-configs --format='value(displayName)' --project="$project")
for check in "$folder"/uptime/*.json; do
  name=$(sed -n 's/^  "displayName": "\(.*\)",*$/\1/p' "$check")
  grep --quiet --line-regexp --fixed-strings "$name" <<< "$existing" || post uptimeCheckConfigs "$check"
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
