#!/usr/bin/env bash
# Finds TODOs in the files that changed; CHANGED_FILES has one path per line.
while IFS= read -r file; do
  [[ -f $file ]] && grep --with-filename --line-number TODO -- "$file"
done <<< "$CHANGED_FILES"
echo "review of iteration $ITERATION: done"
