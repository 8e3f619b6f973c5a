#!/usr/bin/env bash
# Collects in a new folder what a partner needs: guides, description, samples and the packed client.
#
#     scripts/collect-for-partner.sh FOLDER
#
# Their pages link only to each other, so they can be handed over without this repository.
set -euo pipefail
(($# == 1)) || { echo 'Usage: scripts/collect-for-partner.sh FOLDER' >&2 && exit 64; }
mkdir -p "$1/examples/client"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../docs"

cp api.md integration-guide.md openapi.json "$folder"
cp -R examples/add-price-list.* examples/price-list.json examples/dashboard "$folder/examples"
cp examples/client/README.md "$folder/examples/client"
# These options override the user's npm settings.
npm pack ./examples/client --silent --ignore-scripts=false --dry-run=false --pack-destination "$folder"
