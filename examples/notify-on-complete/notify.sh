#!/usr/bin/env bash
# Notifies people: by a message if SLACK_WEBHOOK is set, otherwise in a log.
set -euo pipefail
if [[ -n ${SLACK_WEBHOOK:-} ]]; then
  text=${1//\\/\\\\}
  curl --silent --show-error --fail --max-time 20 --header 'Content-Type: application/json' \
    --data "{\"text\": \"${text//\"/\\\"}\"}" "$SLACK_WEBHOOK"
else
  printf '%s\n' "$1" >> notifications.log
fi
