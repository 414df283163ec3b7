#!/usr/bin/env bash
# Exit code 2 blocks. The agent reads standard error as the reason.
if [[ $1 =~ (^|[^[:alnum:]_])sudo($|[^[:alnum:]_]) ]]; then
  echo "sudo is not allowed here" >&2
  exit 2
fi
