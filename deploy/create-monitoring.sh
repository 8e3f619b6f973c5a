#!/usr/bin/env bash
# Creates what deploy/monitoring describes, and replaces what an earlier run has created. If Google refuses a file, the
# script continues with the others, then prints each refused file with the reason, and exits with 1.
# Usage: deploy/create-monitoring.sh PROJECT NOTIFICATION_CHANNEL
# Needs gcloud, curl and the role roles/monitoring.editor, with roles/logging.configWriter for the metrics.
set -euo pipefail
[ $# = 2 ] || { sed -n 2,5p "$0"; exit 64; }
project=$1 channel=$2
gcloud monitoring policies create --help > /dev/null 2>&1 || { echo 'gcloud is missing or too old. Install it, or run gcloud components update.' >&2; exit 1; }
CDPATH='' cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cp -R deploy/monitoring/. "$folder"
region=$(sed -n "s/^export const REGION = '\(.*\)';/\1/p" functions/src/lib/region.ts)
# Joins the names of the Cloud Run services, except those whose file matches `$1`, into a pattern. Each service is named after the
# file of its function.
services() { basename -s .ts functions/src/*-*.ts | grep -v "$1" | tr -d - | LC_ALL=C sort | paste -sd '|' -; }
sed -i.bak "s/your-project/$project/g; s/us-central1/$region/g; s/EVERY_FUNCTION/$(services '^$')/g; \
  s/EVERY_OPERATION/$(services sweep)/g; s/EVERY_READ/$(services price-lists)/g" "$folder"/*.json "$folder"/*/*.json

refused=''

# Runs the command that sends a file. If the command fails, keeps its output as the reason.
try() {
  local file=${1/#$folder/deploy/monitoring} output
  shift
  if output=$("$@" 2>&1); then
    echo "Sent: $file"
  else
    refused+="$file: $output"$'\n'
    return 1
  fi
}

# Sends a file to Google's API, and prints the status of the response. `--disable` ignores ~/.curlrc.
send() {
  local method=$1 path=$2 file=$3
  : > "$folder/response" # If nothing arrives, the response to the previous file must not be printed.
  # Passes the token through standard input, because every user of the machine sees the arguments of a program.
  printf 'header = "Authorization: Bearer %s"\n' "$(gcloud auth print-access-token)" |
    curl --disable --config - --silent --show-error --output "$folder/response" --write-out '%{http_code}' --request "$method" \
      --data "@$file" --header 'Content-Type: application/json' "https://monitoring.googleapis.com/v3/projects/$project/$path"
}

# Sends a file, which replaces the resource if its id exists already. If Google refuses the file, prints the response and fails.
put() {
  local method=$1 path=$2 file=$3 status
  status=$(send "$method" "$path" "$file")
  [ "$status" != 409 ] || status=$(send PATCH "${path%%\?*}/${path#*=}" "$file")
  [[ $status = 2?? ]] || { cat "$folder/response"; return 1; }
}

display_name() { sed -n 's/^  "displayName": "\(.*\)",*$/\1/p' "$1"; }

for file in "$folder"/metrics/*.json; do
  metric=$(basename "$file" .json) verb=create
  if gcloud logging metrics describe "$metric" --project="$project" > /dev/null 2>&1; then verb=update; fi
  try "$file" gcloud logging metrics "$verb" "$metric" --config-from-file="$file" --project="$project" || [ "$verb" = create ] ||
    refused+="  Google does not update the kind, the type or a label of a metric. If one of them differs, delete the metric with its history (gcloud logging metrics delete $metric --project=$project), and run this script again."$'\n'
done

service=organisation-data-and-price-lists
try "$folder/service.json" put POST "services?serviceId=$service" "$folder/service.json" || true
for slo in "$folder"/slos/*.json; do
  try "$slo" put POST "services/$service/serviceLevelObjectives?serviceLevelObjectiveId=$(basename "$slo" .json)" "$slo" || true
done

# Google chooses the ids of uptime checks, so the script finds a check by its display name. A new check replaces the old one, because
# Google updates neither the host nor the period of a check (UpdateUptimeCheckConfigRequest in google/monitoring/v3/uptime_service.proto).
for check in "$folder"/uptime/*.json; do
  old_checks=$(gcloud monitoring uptime list-configs --filter="displayName=\"$(display_name "$check")\"" --format='value(name.basename())' --project="$project")
  if try "$check" put POST uptimeCheckConfigs "$check"; then
    for id in $old_checks; do gcloud monitoring uptime delete "$id" --quiet --project="$project" < /dev/null; done
  fi
done

# Creates the new policies before it deletes the old ones, so that nothing is unwatched in between. An old policy stays if
# Google refuses the new policy of the same name.
old_policies=$(gcloud monitoring policies list --filter='documentation.content~"What to do: docs/"' --format='value(name,displayName)' --project="$project")
kept=''
for policy in "$folder"/alerts/*.json; do
  try "$policy" gcloud monitoring policies create --policy-from-file="$policy" --notification-channels="$channel" --project="$project" ||
    kept+=$(display_name "$policy")$'\n'
done
while IFS=$'\t' read -r policy name; do
  if [ -n "$policy" ] && ! grep --quiet --line-regexp --fixed-strings "$name" <<< "$kept"; then
    gcloud monitoring policies delete "$policy" --quiet < /dev/null
  fi
done <<< "$old_policies"

old_dashboards=$(gcloud monitoring dashboards list --filter='displayName="Organisation data and price lists"' --format='value(name)' --project="$project")
if try "$folder/dashboard.json" gcloud monitoring dashboards create --config-from-file="$folder/dashboard.json" --project="$project"; then
  for dashboard in $old_dashboards; do gcloud monitoring dashboards delete "$dashboard" --quiet; done
fi

if [ -n "$refused" ]; then
  printf '\nGoogle did not accept these files:\n%s' "$refused" >&2
  exit 1
fi
