#!/usr/bin/env bash
# Stands in for `cargo test`: fails as long as there is a file named `bug`.
if [[ -e bug ]]; then
  echo "test adds_up ... FAILED"
  exit 1
fi
echo "test adds_up ... ok"
