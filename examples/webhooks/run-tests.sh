#!/usr/bin/env bash
# Stands in for `cargo test`: fails as long as there is a file named `bug`.
if [[ -e bug ]]; then
  echo "test adds_up ... FAILED" >&2
  exit 1
fi
