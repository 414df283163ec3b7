#!/usr/bin/env bash
# Replaces `cargo test`: fails as long as a file named `bug` exists.
if [[ -e bug ]]; then
  echo "test adds_up ... FAILED" >&2
  exit 1
fi
