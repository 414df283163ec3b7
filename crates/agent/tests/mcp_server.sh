#!/bin/bash
# An MCP server for tests: it speaks the protocol over its standard streams, with nothing but the shell.
# Its arguments say how it misbehaves.
schema='{"type":"object","properties":{"text":{"type":"string"}}}'
id=0
lists=0
folder=${HOME:-.}

say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
text() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":%s}' "$1" "$2" "${3-$schema}"; }
is() { [[ " $modes " == *" $1 "* ]]; }
modes="$*"

is writes-pid && echo $$ > "$folder/server.pid"
is waits-for-input || trap '' PIPE
is ignores-its-end && trap '' TERM
is leaves-processes && { setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > "$folder/left.pid"; }
is exits && { echo 'the token is missing' >&2; exit 3; }
is is-silent && exec sleep 1000
is floods-stdout && exec yes '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}'
is floods-lines && exec yes 'a log line that is no message'
is floods-stderr && { yes 'a line on standard error' >&2 & }
is logs-to-stdout && { echo 'listening on standard input'; echo '{"level":"info"}'; }
is wants-terminal && exec cat /dev/tty

tools() {
    if is tools-of-one-name; then
        printf '%s,' "$(tool a.b 'first')" "$(tool a_b 'second')" "$(tool A.B 'third')"
    fi
    if is bad-schemas; then
        printf '%s,' "$(tool no-object x '"string"')" "$(tool no-type x '{}')" \
            "$(tool top x '{"type":"object","anyOf":[]}')" '{"description":"nameless"}'
    fi
    is odd-names && printf '%s,' "$(tool 'sp ace/\u001b[31m\u00fc' odd)" "$(tool "$(printf 'x%.0s' {1..80})" long)"
    if is many-tools; then for number in {1..250}; do printf '%s,' "$(tool "t$number" x)"; done; fi
    [[ $1 -gt 1 ]] && is changes-at-start && printf '%s,' "$(tool late 'Came later.')"
    printf '%s,' "$(tool fail 'Fails.')" "$(tool hang 'Never answers.')" "$(tool big 'Prints a lot.')" \
        "$(tool huge 'Prints 100 MB.')" "$(tool die 'Ends the server.')" "$(tool flood 'Prints for ever.')" \
        "$(tool changed 'Changes the tools.')" "$(tool variables 'Lists variables.')" \
        "$(tool image 'Shows an image.')" "$(tool ask 'Asks the client.')" "$(tool deaf 'Stops reading.')"
    tool echo 'Says it again.'
}

call() {
    case $1 in
    echo | a.b | 'sp ace'*) text "said: $2" ;;
    fail) answer '{"content":[{"type":"text","text":"no such issue"}],"isError":true}' ;;
    hang) is marks-calls && touch "$folder/called" ;;
    deaf) is marks-calls && touch "$folder/called"; exec sleep 1000 ;;
    big) text "first $(head -c 300000 /dev/zero | tr '\0' x) last" ;;
    huge)
        printf '{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"'
        head -c 100000000 /dev/zero | tr '\0' x
        printf '"}]},"id":%s}\n' "$id"
        ;;
    die) echo 'out of memory' >&2; exit 4 ;;
    flood) exec yes 'no message' ;;
    changed)
        say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        text 'changed'
        ;;
    variables) text "$(compgen -e | grep -vx -e _ -e OLDPWD | sort | tr '\n' ' ')token=$TOKEN" ;;
    image)
        answer '{"content":[{"type":"image","data":"QUJDRA==","mimeType":"image/png"},{"type":"text","text":"a cat"}]}'
        ;;
    ask)
        asker=$id
        say '{"jsonrpc":"2.0","id":900,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}'
        read -r line
        [[ $line =~ \"code\":(-?[0-9]+) ]]
        id=$asker
        text "refused with ${BASH_REMATCH[1]}"
        ;;
    *) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32602,\"message\":\"there is no tool $1\"}}" ;;
    esac
}

while read -r line; do
    [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
    case $line in
    *'"method":"initialize"'*)
        is refuses && { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"log in first\"}}"; continue; }
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}'
        ;;
    *'"method":"tools/list"'*)
        lists=$((lists + 1))
        is changes-at-start && [[ $lists == 1 ]] && say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        answer "{\"tools\":[$(tools "$lists")]}"
        ;;
    *'"method":"tools/call"'*)
        [[ $line =~ \"text\":\"([^\"]*)\" ]] && words=${BASH_REMATCH[1]} || words=
        [[ $line =~ \"name\":\"([^\"]*)\" ]]
        call "${BASH_REMATCH[1]}" "$words"
        ;;
    *'"method":"notifications/cancelled"'*) touch "$folder/cancelled" ;;
    esac
done
is ignores-its-end && while :; do sleep 1000; done
exit 0
