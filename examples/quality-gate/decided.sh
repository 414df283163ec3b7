#!/usr/bin/env bash
# Exit 0 if somebody has decided to go on. The decision counts once.
decision=nothing
[[ -e decision ]] && read -r decision < decision && rm decision
if [[ $decision != continue ]]; then
  echo "tests failed, and the decision was: $decision" >&2
  exit 1
fi
