#!/usr/bin/env bash
# Fails where an output says that something is open; STAGE_OUTPUTS has one path a line.
while IFS= read -r file; do
  if grep --quiet --ignore-case 'not done' -- "$file"; then
    echo "$file says that something is not done" >&2
    exit 1
  fi
done <<< "$STAGE_OUTPUTS"
