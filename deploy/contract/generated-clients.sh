#!/usr/bin/env bash
# Generates clients from docs/openapi.json with openapi-generator, compiles those whose compiler this machine has, and calls
# a service of `npm start` with the Python client.
# Usage: deploy/contract/generated-clients.sh BASE_ADDRESS
# Needs Java 17, Maven and Python 3.
set -euo pipefail
[ $# = 1 ] || { sed -n 2,5p "$0"; exit 64; }
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mvn --quiet dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.17.0 -DoutputDirectory="$folder"

generate() {
  local language=$1
  shift
  java -jar "$folder"/openapi-generator-cli-*.jar generate --input-spec docs/openapi.json --generator-name "$language" \
    --output "$folder/$language" "$@" > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
}

# Runs a compiler in the folder of its language, if the machine has the program.
compile() {
  local language=$1 program=$2
  shift 2
  if command -v "$program" > /dev/null; then
    echo "Compiling $language"
    (cd "$folder/$language" && "$@")
  else
    echo "Not compiled, because this machine has no $program: $language"
  fi
}

# The options for Java and Kotlin are those of docs/integration-guide.md.
generate csharp
generate go
generate java --library native
generate kotlin --additional-properties serializationLibrary=jackson
generate php
generate python
generate rust

compile csharp dotnet dotnet build --verbosity quiet src/Org.OpenAPITools
compile go go sh -c 'go mod tidy && go vet ./...'
compile java mvn mvn --quiet compile
compile kotlin gradle sh gradlew --quiet compileKotlin
compile php php sh -c 'find . -name "*.php" -print0 | xargs -0 -n 1 php -l > lint || { cat lint; exit 1; }'
compile rust cargo cargo check --quiet

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "$folder/python"
"$folder/venv/bin/python" deploy/contract/generated_client.py "$1"
