#!/bin/sh
echo "validated $FORGE_TOOL_NAME" > validated.seen
