#!/usr/bin/env bash
# Sends a price list until it is stored, or until sending it again is of no use (docs/price-lists.md).
#
#     BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key \
#       docs/examples/add-price-list.sh docs/examples/price-list.json
#
# Needs bash and curl. Ends with 0: stored; 1: correct it first; 2: call us.
set -euo pipefail

patience_s=1800 # longer than the service takes for the largest list
request_s=1260  # the service answers or gives up within 20 minutes

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

header() { awk -v name="$1:" 'tolower($1) == tolower(name) { sub(/\r$/, ""); print $2 }' "$folder/headers"; }

give_up() {
  echo "$2: $status $(cat "$folder/body") (request $(header X-Request-Id))" >&2
  exit "$1"
}

delay=1
while true; do
  : >"$folder/headers" && : >"$folder/body"
  # No answer says nothing of what became of the request. Sending it again is safe.
  status=$(curl --silent --max-time "$request_s" --dump-header "$folder/headers" --output "$folder/body" \
    --write-out '%{http_code}' --header "x-api-key: $API_KEY" --header 'Content-Type: application/json' \
    --data-binary "@$1" "$BASE_URL/addPriceLists") || status=000

  wait_s=$(header Retry-After)
  if [[ $status == 200 ]]; then
    cat "$folder/body"
    exit 0
  elif [[ -n $wait_s || $status =~ ^(000|408|429|502|503|504)$ ]] || grep -q 'Internal error' "$folder/body"; then
    ((SECONDS < patience_s)) || give_up 2 'call us'
    sleep "${wait_s:-$delay}"
    delay=$((delay < 16 ? delay * 2 : 30))
  elif [[ $status == 5* ]] || grep -q 'requires review' "$folder/body"; then
    give_up 2 'call us'
  else
    give_up 1 'correct it first'
  fi
done
