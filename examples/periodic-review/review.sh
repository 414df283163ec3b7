#!/usr/bin/env bash
# Looks for things left undone in the files that changed; CHANGED_FILES has one path a line.
while IFS= read -r file; do
  [[ -f $file ]] && grep --with-filename --line-number TODO -- "$file"
done <<< "$CHANGED_FILES"
echo "review of iteration $ITERATION: done"
