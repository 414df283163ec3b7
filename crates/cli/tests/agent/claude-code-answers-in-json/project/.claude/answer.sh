#!/bin/sh
# Answers by the command of the call, one field for each.
input=$(cat)
command=$(echo "$input" | jq -r .tool_input.command)
case "$1 $command" in
  "pre touch denied") echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not this one"}}';;
  "pre touch asked") echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "are you sure?"}}';;
  "pre touch raw") echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "touch rewritten"}}}';;
  "pre echo context") echo '{"systemMessage": "looked at", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "additionalContext": "context before the tool"}}';;
  "post echo context") echo '{"suppressOutput": true}';;
  "request touch refused") echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "not that one"}}}';;
  "request touch rules-a") echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedPermissions": [{"type": "addRules", "behavior": "allow", "destination": "session", "rules": [{"toolName": "Bash", "ruleContent": "touch rules-*"}]}]}}}';;
  "request touch last") echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "that is all", "interrupt": true}}}';;
esac
