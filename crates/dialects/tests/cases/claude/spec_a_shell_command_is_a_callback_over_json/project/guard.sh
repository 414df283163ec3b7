#!/bin/sh
case $(cat) in
*'"command":"rm '*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "rm is not allowed"}}' ;;
esac
