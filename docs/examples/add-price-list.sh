#!/usr/bin/env bash
# Sends a price list until the service has created its lists, another request would not help, or the time for retries is over.
#
#     BASE_URL=https://... API_KEY=... bash add-price-list.sh [--allow-other-currency] FILE
#
# Needs bash, curl 7.76 and jq 1.6 or newer. The integration guide explains the retries. Exit codes:
# 0 created, 1 correct the request first, 2 contact support, 3 lists may exist: correct the cause, and send the same file again,
# 64 wrong usage, address, file or certificate, or no space for temporary files.
# SHELLOPTS can set other options: -x would print the API key, and -e or -C would end the retries.
set +evxCf +o posix -uo pipefail
trap '' PIPE

finish() { echo "$2" >&2; exit "$1"; }

is_other_allowed=false
if [[ ${1:-} == --allow-other-currency ]]; then is_other_allowed=true && shift; fi
[[ $# == 1 && -f $1 && -r $1 && ${BASE_URL:-} =~ ^https?://[^/] && ${API_KEY:-} =~ ^[[:graph:]]+$ ]] ||
  finish 64 'Usage: BASE_URL=https://... API_KEY=... add-price-list.sh [--allow-other-currency] FILE'
folder=$(mktemp -d) || exit 64
trap 'rm -rf "$folder"' EXIT
jq() { HOME=$folder command jq "$@"; } # does not load ~/.jq, which can redefine functions
header() {
  LC_ALL=C awk -v name="$1:" '/^HTTP/ { v = "" } tolower($1) == name { v = $2 } END { gsub(/[^!-~]/, "", v); print v }' "$folder/headers"
}

# The stream of jq has both of two equal identifiers, but its values have only one. A file that is not valid JSON passes, because the service rejects it.
in_text=$(jq --null-input --stream 'reduce (inputs | select(length == 1 and (.[0] | length) == 3 and .[0][0] == "products")) as $_ (0; . + 1)' "$1" 2>/dev/null) &&
  kept=$(jq '.products | to_entries | map(select(.value | objects | length > 0)) | length' "$1" 2>/dev/null) && [[ $kept =~ ^[0-9]+$ && $in_text != "$kept" ]] &&
  finish 1 'Correct it first: products or a product identifier occurs twice'

for name in RETRY_SECONDS REQUEST_SECONDS; do
  [[ ${!name:-1} =~ ^[1-9][0-9]{0,5}$ ]] || finish 64 "$name must be a whole number of seconds from 1 to 999999"
done
give_up_at=$((SECONDS + ${RETRY_SECONDS:-1800})) # longer than the service takes for the largest list
while :; do
  : >"$folder/headers" && : >"$folder/body" || finish 64 'No space for temporary files'
  # curl retries 408, 429 and some 5xx itself. Without `Retry-After` its waits double, so a wait that begins in the first half of the time left ends within that time.
  half=$(((give_up_at - SECONDS) / 2))
  status=$(curl --disable --globoff --no-progress-meter --fail-with-body --max-time "${REQUEST_SECONDS:-1260}" --max-filesize 1000000 \
    --retry $((half > 0 ? 1000 : 0)) --retry-max-time "$half" --dump-header "$folder/headers" --output "$folder/body" \
    --write-out '%{http_code}' --header @<(printf 'x-api-key: %s\n' "$API_KEY") --header 'Expect:' \
    --header 'Content-Type: application/json' --data-binary "@$1" "${BASE_URL%/}/addPriceLists")
  case $? in
    0 | 22) ;; # a response; for an error response, 22
    1 | 3 | 26 | 51 | 60 | 77) finish 64 'The address, the file or the certificate cannot be used' ;;
    23 | 27 | 61 | 63) finish 3 'The response cannot be read, and the service may have created the lists: send the same file again' ;;
    *) status='no response' ;;
  esac
  [[ $status != 2* ]] || break
  # Converts the body to JSON in ASCII, so that no control character reaches the terminal.
  body=$(head -c 1000 "$folder/body" | jq --raw-input --slurp --ascii-output .)
  summary="$status $body request $(header x-request-id)" retry_after=$(header retry-after)
  if [[ -n $retry_after || $status =~ ^(no response|408|429|500|502|503|504)$ ]]; then
    wait=5
    [[ ! $retry_after =~ ^0*([0-9]{1,9})[0-9]*$ ]] || wait=$((10#${BASH_REMATCH[1]} > 1 ? BASH_REMATCH[1] : 1))
    ((SECONDS + wait < give_up_at)) || finish 2 "Contact support, no success in time: $summary"
    echo "Retry in $wait s: $summary" >&2
    sleep "$wait"
  elif [[ $status == 5* || $summary == *'requires review'* ]]; then
    finish 2 "Contact support: $summary"
  else
    finish 1 "Correct it first: $summary"
  fi
done

[[ $status == 200 ]] && jq --exit-status --slurp --slurpfile sent "$1" '.[0] |
  .success == true and .products_count == ($sent[0].products | length) and has("price_list") and has("expected_forward_cost") and
  ([.price_list, .expected_forward_cost] | . == [null, null] or map(.status) == ["ready", "ready"])' "$folder/body" &>/dev/null ||
  finish 3 'The response is not from the service. Correct the address or the network, and send the same file again'
jq --ascii-output --compact-output . "$folder/body" ||
  finish 3 'The response cannot be written, and the service may have created the lists: send the same file again'
stored=$(jq --raw-output '.price_list.currency' "$folder/body")
[[ $stored != null ]] || finish 1 'Correct it first: no market has the market_id, so no list was created. Use a new boq_list_id'
sent=$(jq --raw-output '.info.currency_iso | ascii_upcase' "$1")
[[ $stored == "$sent" ]] || $is_other_allowed ||
  finish 1 "Correct it first: the prices are stored as $stored, the currency of the market, not as $sent"
