git init -q -b main . && git config user.name me && git config user.email me@example.org
cp ~/.autoagent/execution.log execution.log
