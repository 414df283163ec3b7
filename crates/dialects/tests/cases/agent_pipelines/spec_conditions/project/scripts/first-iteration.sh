#!/bin/sh
printf "%s|" first-iteration.sh "$@" >> ran.seen
