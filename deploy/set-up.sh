#!/usr/bin/env bash
# Compares a project with what the service needs, and prints what is left to do, in order: commands, and as comments what a
# person has to decide. With --apply, the script runs the commands. Run it again at any time: it prints what is left then. It removes
# nothing, because other systems may need what the project has.
# Usage: deploy/set-up.sh [--apply] [--keep-rules] [--database ID] PROJECT
#   --keep-rules   the project keeps its own Firestore rules (docs/deployment.md#in-a-shared-project)
#   --database ID  the database of the parameter DATABASE_ID, by default (default)
# Needs gcloud, firebase, curl, Node and the packages of npm ci. Exit code: 0 nothing is left, 64 wrong usage, any other: something is left or has failed.
set -euo pipefail

apply='' keep_rules='' database='(default)' project='' left=0
usage() { sed -n 2,8p "$0" >&2; exit 64; }
while [ $# -gt 0 ]; do
  case $1 in
    --apply) apply=yes ;;
    --keep-rules) keep_rules=yes ;;
    --database) [ $# -gt 1 ] || usage; database=$2; shift ;;
    -* | '') usage ;;
    *) [ -z "$project" ] || usage; project=$1 ;;
  esac
  shift
done
[ -n "$project" ] || usage
CDPATH='' cd "$(dirname "$0")/.."
# Without this variable, gcloud could ask during a comparison whether to enable a service that is disabled.
export CLOUDSDK_CORE_DISABLE_PROMPTS=1
region=$(sed -n "s/^export const REGION = '\(.*\)';/\1/p" functions/src/lib/region.ts)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# Prints a command, and with --apply runs it.
run() {
  printf '%q ' "$@"
  echo
  if [ -z "$apply" ]; then left=$((left + 1)); else "$@" >&2 < /dev/null; fi
}
# Prints what a person has to decide or to wait for.
decide() { printf '# %s\n' "$@"; left=$((left + 1)); }
# Prints a remark, which does not count as left.
note() { printf '# %s\n' "$@"; }
# Prints the first line of the table `$1` that has `$2` in its first column.
row() { awk -F '\t' -v first="$2" '$1 == first { print; exit }' <<< "$1"; }

# Services. Nothing else is compared without them.
enabled=$(gcloud services list --enabled --project "$project" --format='value(config.name)')
missing=()
for service in artifactregistry cloudbilling cloudbuild cloudfunctions cloudresourcemanager cloudscheduler compute eventarc firebase \
  firebaserules firestore iam logging monitoring pubsub run secretmanager serviceusage storage; do
  grep -qx "$service.googleapis.com" <<< "$enabled" || missing+=("$service.googleapis.com")
done
if [ ${#missing[@]} -gt 0 ]; then
  run gcloud services enable "${missing[@]}" --project "$project"
  if [ -z "$apply" ]; then note 'The rest can be compared when these services are enabled.' && exit 1; fi
fi

firebase_projects=$(firebase projects:list --json)
grep -Eq "\"projectId\": *\"$project\"" <<< "$firebase_projects" || run firebase projects:addfirebase "$project"

# The database, protected against mistakes by deletion protection, point-in-time recovery and backups.
of_database=(--database="$database" --project "$project")
databases=$(gcloud firestore databases list --project "$project" \
  --format='value(name.basename(), type, pointInTimeRecoveryEnablement, deleteProtectionState)')
IFS=$'\t' read -r exists type recovery protection <<< "$(row "$databases" "$database")"
[ -n "$exists" ] || run gcloud firestore databases create "${of_database[@]}" --location=nam5 --type=firestore-native
[ "${type:-FIRESTORE_NATIVE}" = FIRESTORE_NATIVE ] || run gcloud firestore databases update "${of_database[@]}" --type=firestore-native
if [ "$recovery $protection" != 'POINT_IN_TIME_RECOVERY_ENABLED DELETE_PROTECTION_ENABLED' ]; then
  run gcloud firestore databases update "${of_database[@]}" --enable-pitr --delete-protection
fi
schedules=''
if [ -n "$exists$apply" ]; then
  # Excludes weekly schedules, because no filter of gcloud finds the empty object that marks a daily one.
  schedules=$(gcloud firestore backups schedules list "${of_database[@]}" --filter='NOT weeklyRecurrence:*' --format='value(name)')
fi
[ -n "$schedules" ] || run gcloud firestore backups schedules create "${of_database[@]}" --recurrence=daily --retention=14d

# Accounts, each with the one role that it needs in the project.
number=$(gcloud projects describe "$project" --format='value(projectNumber)')
accounts=$(gcloud iam service-accounts list --project "$project" --format='value(email, disabled)')
policy=$(gcloud projects get-iam-policy "$project" --flatten='bindings[].members' --format='value(bindings.members, bindings.role)')
grant() { # EMAIL ROLE
  grep -qxF "serviceAccount:$1"$'\t'"roles/$2" <<< "$policy" ||
    run gcloud projects add-iam-policy-binding "$project" --condition=None --member="serviceAccount:$1" --role="roles/$2"
  local role
  while IFS=$'\t' read -r _ role; do
    note "$1 also has $role. Unless something else needs this role, remove it:" \
      "  gcloud projects remove-iam-policy-binding $project --condition=None --member=serviceAccount:$1 --role=$role"
  done < <(grep -F "serviceAccount:$1"$'\t' <<< "$policy" | grep -vxF "serviceAccount:$1"$'\t'"roles/$2")
}
for pair in organisation-data-reader:datastore.viewer price-lists-writer:datastore.user; do
  email=${pair%:*}@$project.iam.gserviceaccount.com
  IFS=$'\t' read -r found disabled <<< "$(row "$accounts" "$email")"
  [ -n "$found" ] || run gcloud iam service-accounts create "${pair%:*}" --project "$project"
  [ "$disabled" != True ] || run gcloud iam service-accounts enable "$email" --project "$project"
  grant "$email" "${pair#*:}"
done
# Cloud Build builds the functions as this account. In an older project, a failed build names the account that needs the role instead.
grant "$number-compute@developer.gserviceaccount.com" cloudbuild.builds.builder
while IFS=$'\t' read -r member role; do
  decide "$member has $role in the whole project. Remove it:" \
    "  gcloud projects remove-iam-policy-binding $project --condition=None --member=$member --role=$role"
done < <(grep -E '^all(Authenticated)?Users'$'\t' <<< "$policy")

# Indexes. With --force, Firebase's tools would delete the indexes that the service does not declare. They may belong to other systems,
# so the script omits --force.
compare_indexes() {
  local lacking groups unready index state target
  firebase firestore:indexes --json "${of_database[@]}" > "$folder/indexes" || { cat "$folder/indexes" >&2; exit 1; }
  lacking=$(node --import tsx deploy/set-up/missing-indexes.ts "$folder/indexes")
  if [ -n "$lacking" ]; then
    note "Missing: ${lacking//$'\n'/; }"
    target=$(node -p "require('./firebase.json').firestore.database ?? '(default)'")
    if [ "$target" = "$database" ]; then
      run firebase deploy --only firestore:indexes --project "$project" --non-interactive
    else
      decide "Firebase's tools would create them in $target, the database in firebase.json. Change it there, and run this script again."
    fi
  fi
  groups=$(node -p "[...new Set(require('./firestore.indexes.json').indexes.map((index) => index.collectionGroup))].join('|')")
  unready=$(gcloud firestore indexes composite list "${of_database[@]}" \
    --filter="state!=READY AND name~'/collectionGroups/($groups)/'" --format='value(name.basename(), state)')
  while IFS=$'\t' read -r index state; do
    case $state in
      '') ;;
      CREATING) decide "Firestore builds the index $index. Run this script again until the index is ready." ;;
      *) decide "The index $index is $state. Before you run this script again, delete the index:" \
        "  gcloud firestore indexes composite delete $index --database='$database' --project $project" ;;
    esac
  done <<< "$unready"
}
if [ -n "$exists$apply" ]; then compare_indexes; else note 'The indexes can be compared when the database exists.'; fi

# Rules, which all applications of a database share. Without rules, Firestore refuses every client, as firestore.rules does.
ask_rules() {
  # Passes the token through standard input, because every user of the machine sees the arguments of a program. `--disable` ignores ~/.curlrc.
  printf 'header = "Authorization: Bearer %s"\n' "$token" |
    curl --disable --config - --silent --show-error --output "$folder/rules" --write-out '%{http_code}' \
      --header "x-goog-user-project: $project" "https://firebaserules.googleapis.com/v1/$1"
}
if [ -z "$keep_rules" ]; then
  token=$(gcloud auth print-access-token)
  release=projects/$project/releases/cloud.firestore
  [ "$database" = '(default)' ] || release+=/$database
  status=$(ask_rules "$release")
  if [ "$status" = 200 ]; then
    ruleset=$(node --import tsx deploy/set-up/rules.ts "$folder/rules")
    status=$(ask_rules "$ruleset")
    verdict=
    [ "$status" != 200 ] || verdict=$(node --import tsx deploy/set-up/rules.ts "$folder/rules")
    if [ "$verdict" = different ]; then
      decide 'The rules of the database differ from firestore.rules, which refuses every client.' \
        "In a project of its own, set \"database\" in firebase.json to $database, and replace them: firebase deploy --only firestore:rules --project $project" \
        'In a shared project, keep them if they let no client read or write the collections of this service, and add --keep-rules.'
    fi
  elif [ "$status" = 404 ]; then
    status=200
  fi
  [ "$status" = 200 ] || { cat "$folder/rules" >&2; exit 1; }
fi

# Functions of other systems, which a deployment would overwrite.
functions=$(gcloud functions list --regions "$region" --project "$project" --format='value(name.basename(), labels.firebase-functions-codebase)')
for name in $(sed -n 's/^export { \(.*\) } from .*/\1/p' functions/src/index.ts); do
  IFS=$'\t' read -r found codebase <<< "$(row "$functions" "$name")"
  if [ -n "$found" ] && [ "$codebase" != organisation-data ]; then
    decide "A deployment would overwrite the function $name of another system. Use another project or region."
  fi
done

secrets=$(gcloud secrets list --project "$project" --format='value(name.basename())')
grep -qx API_KEY <<< "$secrets" || decide 'The secret API_KEY is missing. Set the first API key: docs/deployment.md#api-key-rotation'

if [ "$left" -gt 0 ]; then exit 1; fi
echo '# Nothing is left.'
