#!/usr/bin/env bash
# Exit 2 blocks, and what stands on standard error is the reason that the agent reads.
if [[ $1 =~ (^|[^[:alnum:]_])sudo($|[^[:alnum:]_]) ]]; then
  echo "sudo is not allowed here" >&2
  exit 2
fi
