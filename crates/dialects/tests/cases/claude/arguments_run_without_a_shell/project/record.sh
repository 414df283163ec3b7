#!/bin/sh
for word in "$@"; do printf '<%s>\n' "$word"; done > words.seen
ls > ls.seen
