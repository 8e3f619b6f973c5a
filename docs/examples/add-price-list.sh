#!/usr/bin/env bash
# Sends a price list until the service has created its lists, or until another try would not help.
#
#     BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key \
#       bash add-price-list.sh price-list.json
#
# Needs bash 3.2 and curl 7.55 or newer. integration-guide.md explains the retries.
# Writes the response to stdout and everything else to stderr. Uses the proxy that https_proxy names.
# Exit codes: 0 created, 1 correct it first, 2 contact support, 64 wrong usage.
# Lists in another currency than the request's cause a warning; with --strict-currency, exit code 1.
set -euo pipefail

retry_seconds=${RETRY_SECONDS:-1800}     # longer than the service takes for the largest list
request_seconds=${REQUEST_SECONDS:-1260} # the service responds within 20 minutes

usage() {
  printf '%s\n' "$1" 'Usage: BASE_URL=https://... API_KEY=... add-price-list.sh [--strict-currency] FILE' >&2
  exit 64
}

is_strict=false
if [[ ${1:-} == --strict-currency ]]; then is_strict=true && shift; fi
api_key_pattern='^[!-~]+$'
(($# == 1)) || usage 'expected one file'
[[ $1 != -* ]] || usage "$1 is not an option; the only one is --strict-currency"
[[ ${BASE_URL:-} =~ ^https?://[^/] ]] || usage 'BASE_URL must begin with http:// or https://'
(LC_ALL=C && [[ ${API_KEY:-} =~ $api_key_pattern ]]) || usage 'API_KEY must be set, without spaces or line breaks'
[[ -r $1 && ! -d $1 ]] || usage "$1 cannot be read"

file=$1 url=$BASE_URL
while [[ $url == */ ]]; do url=${url%/}; done
# A proxy can read the API key of an http request, so the program uses a proxy only for https.
[[ $url == https:* ]] || export no_proxy='*'
unset GREP_OPTIONS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

header() {
  awk -v name="$1:" 'tolower($1) == tolower(name) { sub(/\r$/, ""); sub(/^[^:]*: */, ""); value = $0 } END { print value }' \
    "$folder/headers"
}

has() { grep -q "$1" "$folder/body"; }

# Prints the seconds of Retry-After, which may be a date. GNU and BSD have different options to parse a date.
retry_after() {
  local value at
  value=$(header Retry-After)
  if [[ $value =~ ^[0-9]+$ ]]; then
    echo "$value"
  elif at=$(date -d "${value:-none}" +%s 2>/dev/null || LC_ALL=C date -j -f '%a, %d %b %Y %T %Z' "$value" +%s 2>/dev/null); then
    at=$((at - $(date +%s)))
    echo $((at > 0 ? at : 0))
  fi
}

# Prints a member of `info` as the payload has it. Members of products may have the same name.
sent() {
  LC_ALL=C grep -oE '"([^"\]|\\.)*"|[][{}:,]' "$file" | LC_ALL=C awk -v wanted="\"$1\"" '
    /^[[{]/ { path[++depth] = name; name = ""; next }
    /^[]}]/ { depth--; name = ""; next }
    /^,/ { name = ""; next }
    /^:/ { name = text; next }
    { text = $0 }
    depth == 2 && path[2] == "\"info\"" && name == wanted { value = text }
    END { print value }'
}

# Ends the program after a 200. It is a success only if there are lists in the currency of the request.
finish_created() {
  printf '%s\n' "$(cat "$folder/body")"
  if has '"price_list": *null'; then
    finish 1 'correct it first' "no list was created, because no market has the market_id $(sent market_id).\
 Send a market_id of get markets with a new boq_list_id: this one is used up"
  fi
  local stored sent
  stored=$(sed 's/.*"currency": *"\([^"]*\)".*/\1/' "$folder/body")
  sent=$(sent currency_iso | tr -d '"' | tr '[:lower:]' '[:upper:]')
  [[ $stored != "$sent" ]] || exit 0
  local problem="the prices are stored as $stored, the currency of the market, not as $sent"
  if $is_strict; then finish 1 'correct it first' "$problem"; fi
  finish 0 warning "$problem"
}

finish() {
  echo "$2: $3" >&2
  exit "$1"
}

delay=1
for ((tries = 1; ; tries++)); do
  : >"$folder/headers" && : >"$folder/body"
  # Without a response, the outcome is unknown. Sending the same payload again is safe.
  # As the first option, --disable makes curl ignore the caller's ~/.curlrc.
  status=$(curl --disable --silent --show-error --max-time "$request_seconds" --dump-header "$folder/headers" \
    --output "$folder/body" --write-out '%{http_code}' --header @<(printf 'x-api-key: %s\n' "$API_KEY") \
    --header 'Content-Type: application/json' --header 'Expect:' --data-binary "@$file" "$url/addPriceLists" \
    2>"$folder/error") || status=000
  error=$(sed -n 's/^{"error":"\([^"]*\)"}$/\1/p' "$folder/body")
  summary="$status $(cat "$folder/body") (request $(header X-Request-Id))"

  if [[ $status == 200 ]] && has '"success": *true'; then
    finish_created
  elif [[ $status == 000 ]]; then
    reason="no response: $(cat "$folder/error")"
  elif [[ $status == 200 ]]; then
    reason='200, but not with a response of the service'
  elif [[ -n $(header Retry-After) || ' 408 429 502 503 504 ' == *" $status "* ]]; then
    reason="$status${error:+ $error}"
  elif [[ $status == 5* && -z $error ]]; then
    reason="$status, but not with a response of the service"
  elif [[ $status == 5* && $error == 'Internal error' ]]; then
    reason="$status $error"
  elif [[ $status == 5* ]] || has 'requires review'; then
    finish 2 'contact support' "$summary"
  else
    finish 1 'correct it first' "$summary"
  fi

  wait_seconds=$(retry_after)
  wait_seconds=${wait_seconds:-$delay}
  ((SECONDS + wait_seconds <= retry_seconds)) ||
    finish 2 'contact support' "not stored after $tries tries, the last: $reason"
  echo "try $tries: $reason; next try in $wait_seconds s" >&2
  sleep "$wait_seconds"
  delay=$((delay < 16 ? delay * 2 : 30))
done
