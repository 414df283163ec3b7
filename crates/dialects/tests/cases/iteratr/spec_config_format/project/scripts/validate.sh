#!/bin/sh
echo "$(basename "$0") $*" | tee -a ran
