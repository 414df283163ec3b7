jq -r '.issueTitle + " is done"' | tee notified
echo ".autoagent" > .gitignore
