#!/usr/bin/env bash
# Keeps a copy of the progress file for every iteration.
set -euo pipefail
mkdir -p backups
cp -- "$1" "backups/$(printf '%03d' "$ITERATION").md"
