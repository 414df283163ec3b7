# Starts and stops the server and the pooler, as it is told on standard input. At the end of the
# input, which comes whenever and however the tests end, it ends both and deletes the folder.
#
# Arguments: the folder of Postgres' programs, the folder of the cluster.

programs=$1
folder=$2
pooler=
# The library that gives the server a clock of its own, if it has one.
faketime=
# Control-C in a terminal is for the tests.
trap '' INT HUP

answer() {
    if "$@" >>"$folder/keeper.log" 2>&1; then echo done; else echo failed; fi
}

create() {
    cd "$folder" || return
    "$programs/initdb" --pgdata=data --username=owner --auth=trust --encoding=UTF8 --no-locale \
        --no-sync || return
    # A certificate that is its own authority, and of no other name than `localhost`.
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE \
        -keyout data/server.key -out data/server.crt || return
    chmod 0600 data/server.key
    # The owner needs no password, everyone else does.
    cat >data/pg_hba.conf <<END
local all owner trust
host all owner 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
END
    cat >>data/postgresql.conf <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '$folder'
max_connections = 200
shared_buffers = 32MB
fsync = on
ssl = on
max_wal_size = 4GB
END
}

# The server's clock is from now on moved by what is in the file `clock`.
own_clock() {
    faketime=$1
    echo +0 >"$folder/clock"
}

start() (
    if [ -n "$faketime" ]; then
        export LD_PRELOAD="$faketime" FAKETIME_TIMESTAMP_FILE="$folder/clock"
        export FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1
    fi
    "$programs/pg_ctl" --pgdata="$folder/data" --log="$folder/log" --wait --timeout=60 \
        --options="-p $1" start
)

stop() {
    "$programs/pg_ctl" --pgdata="$folder/data" --mode="$1" --wait --timeout=60 stop
}

# As a crash of the machine's power would, but for what the disk already has.
crash() {
    server=$(head -n 1 "$folder/data/postmaster.pid")
    for child in $(cat "/proc/$server/task/$server/children"); do kill -9 "$child"; done
    kill -9 "$server"
    while kill -0 "$server"; do sleep 0.01; done
}

# As a machine that stands still.
pause() {
    server=$(head -n 1 "$folder/data/postmaster.pid")
    kill -STOP "$server" || return
    for child in $(cat "/proc/$server/task/$server/children"); do kill -STOP "$child"; done
}

continue_server() {
    server=$(head -n 1 "$folder/data/postmaster.pid")
    for child in $(cat "/proc/$server/task/$server/children"); do kill -CONT "$child"; done
    kill -CONT "$server"
}

# The small disk that only these processes see has no space from now on.
fill() {
    dd if=/dev/zero of=/mnt/filler bs=64k
    # It ends with an error, which is what is wanted.
    [ -s /mnt/filler ]
}

free() {
    rm /mnt/filler
}

start_pooler() {
    [ -z "$pooler" ] || kill -9 "$pooler"
    cat >"$folder/pooler.ini" <<END
[databases]
* = host=127.0.0.1 port=$1 user=owner
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $2
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
logfile = $folder/pooler.log
END
    pgbouncer --quiet "$folder/pooler.ini" </dev/null >/dev/null &
    pooler=$!
}

while read -r command first second; do
    case $command in
    create) answer create ;;
    own_clock) answer own_clock "$first" ;;
    start) answer start "$first" ;;
    stop) answer stop "$first" ;;
    crash) answer crash ;;
    pause) answer pause ;;
    continue) answer continue_server ;;
    make_space) answer mkdir /mnt/small ;;
    fill) answer fill ;;
    free) answer free ;;
    pooler) answer start_pooler "$first" "$second" ;;
    esac
done
[ -z "$pooler" ] || kill -9 "$pooler"
continue_server >/dev/null 2>&1
stop immediate >/dev/null 2>&1
cd /
rm -rf "$folder"
