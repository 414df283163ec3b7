#!/usr/bin/env bash
# Tells people something: by a message where there is an address for it, else in a log.
set -euo pipefail
if [[ -n ${SLACK_WEBHOOK:-} ]]; then
  text=${1//\\/\\\\}
  curl --silent --show-error --fail --max-time 20 --header 'Content-Type: application/json' \
    --data "{\"text\": \"${text//\"/\\\"}\"}" "$SLACK_WEBHOOK"
else
  printf '%s\n' "$1" >> notifications.log
fi
