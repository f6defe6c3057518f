#!/usr/bin/env bash
# `updraft` as pages call it: RUN is the newest run, NAME the first file set aside, a server stays until the page is over and has a port of its own, and
# the exit codes that a block allows ($DOC_EXITS) count as success.
set -u

arguments=()
for argument in "$@"; do
    case $argument in
    RUN | 7k2m) argument=last ;;
    NAME) argument=$("$DOC_UPDRAFT" aside list --json | sed -n 's/.*"name":"\([^"]*\)".*/\1/p' | head -1) ;;
    esac
    arguments+=("$argument")
done

# Of a block that is not run, only the arguments are parsed: `--help` where arguments end.
if [[ -n ${DOC_ARGUMENTS_ONLY:-} ]]; then
    before=()
    for argument in "${arguments[@]}"; do
        [[ $argument == -- ]] && break
        before+=("$argument")
    done
    exec "$DOC_UPDRAFT" "${before[@]}" --help >/dev/null
fi

ready=""
case "${arguments[*]-}" in
"serve user"* | *--help*) ;;
serve*)
    ready="http"
    [[ ${arguments[*]} == *--listen* ]] || arguments+=(--listen "127.0.0.1:$DOC_PORT_7717")
    [[ ${arguments[*]} != *--bridge* || ${arguments[*]} == *--bridge-port* ]] || arguments+=(--bridge-port "$DOC_PORT_8888")
    ;;
"mcp serve"*--http*) ready="http" ;;
*--watch* | *--follow*) ready="." ;;
esac

if [[ -z $ready ]]; then
    "$DOC_UPDRAFT" "${arguments[@]}"
    code=$?
    for allowed in $DOC_EXITS; do
        [[ $code == "$allowed" ]] && exit 0
    done
    exit "$code"
fi

# One server at a time, as one person has it.
for pid in $(cat "$DOC_SCRATCH/servers" 2>/dev/null); do
    kill "$pid" 2>/dev/null && while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
done
log=$(mktemp "$DOC_SCRATCH/log.XXXXXX")
"$DOC_UPDRAFT" "${arguments[@]}" >"$log" 2>&1 </dev/null &
server=$!
echo "$server" >"$DOC_SCRATCH/servers"
for ((tries = 0; tries < 300; tries++)); do
    if grep -q "$ready" "$log"; then
        cat "$log"
        exit 0
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
done
cat "$log" >&2
exit 1
