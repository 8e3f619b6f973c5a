#!/usr/bin/env bash
# Checks docs/openapi.json with the validators kin-openapi (Go), openapi-spec-validator (Python) and
# @seriousme/openapi-schema-validator (JavaScript), and generates and compiles a server and a client with ogen (Go).
# Usage: deploy/contract/validators.sh
# Needs Go 1.26, Node and Python 3.
set -euo pipefail
cd "$(dirname "$0")/../.."
description=$PWD/docs/openapi.json
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

go run github.com/getkin/kin-openapi/cmd/validate@v0.153.0 -- "$description"
echo 'kin-openapi accepts the description'

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openapi-spec-validator==0.9.0
"$folder/venv/bin/openapi-spec-validator" --schema 3.1.0 "$description"

cd "$folder"
npm install --silent --ignore-scripts @seriousme/openapi-schema-validator@2.11.0
node_modules/.bin/validate-api "$description"

go mod init generated 2> log
go run github.com/ogen-go/ogen/cmd/ogen@v1.25.0 --target generated --package generated "$description" > log 2>&1 || { cat log; exit 1; }
go mod tidy 2> log && go vet ./...
echo 'ogen generates Go that compiles'
