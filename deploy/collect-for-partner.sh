#!/usr/bin/env bash
# Collects into a folder what a partner needs, as a small site: start page, guides, API description, samples and the packed client.
#
#     deploy/collect-for-partner.sh FOLDER
#
# The pages link to no file outside the folder, so you can hand over the folder without this repository.
set -euo pipefail
(($# == 1)) || { echo 'Usage: deploy/collect-for-partner.sh FOLDER' >&2 && exit 64; }
mkdir -p "$1"
folder=$(CDPATH='' cd "$1" && pwd)
CDPATH='' cd "$(dirname "$0")/.."

mkdir -p "$folder/examples"
examples=docs/examples
cp docs/openapi.json "$folder"
cp -R "$examples"/{add-price-list.py,add-price-list.sh,price-list.json,requirements.txt,dashboard} "$folder/examples"
node --import tsx dev/pages/partner-pages.ts "$folder"
# These options override the user's npm settings.
npm pack ./docs/examples/client --silent --ignore-scripts=false --dry-run=false --pack-destination "$folder"
