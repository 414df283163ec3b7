#!/usr/bin/env bash
# Waits for an answer in a file. Exits with 0 for yes. Any other answer fails the hook, and its standard
# error says why. APPROVAL_SECONDS limits the wait to less than the hook's own timeout.
deadline=$((SECONDS + ${APPROVAL_SECONDS:-86400}))
until [[ -s $1 ]]; do
  if ((SECONDS >= deadline)); then
    echo "no answer in $1" >&2
    exit 1
  fi
  sleep 0.2
done
read -r answer < "$1"
case $answer in
  approve) ;;
  *) echo "the answer in $1 was: $answer" >&2; exit 1 ;;
esac
