#!/usr/bin/env bash
# The one test command: ./test.sh. Formatting, lints, house rules, every test, every example in the documentation.
# `./test.sh quick` leaves out the tests that start the program or need Python, and the examples.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

NETWORKX_VERSION=3.4.2 # the judge of our node-link export; needs Python 3.10 or newer
STARTED=$SECONDS
PART=""
SKIPPED=()

heading() {
    PART=$1
    printf '\n== %s (after %ss)\n' "$PART" "$((SECONDS - STARTED))"
}

skip() {
    SKIPPED+=("$1")
    printf '!!\n!! SKIP: %s\n!!\n' "$1" >&2
}

summary() {
    local status=$?
    local took=$((SECONDS - STARTED))
    if ((status == 0)); then
        printf '\nPASSED in %ss' "$took"
    else
        printf '\nFAILED in "%s" after %ss' "$PART" "$took"
    fi
    if ((${#SKIPPED[@]} > 0)); then
        printf '; skipped: %s' "${SKIPPED[*]}"
    fi
    printf '\n'
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

# Leaves UPDRAFT_TEST_PYTHON empty where there is no networkx; the tests that need it then say that they were skipped.
prepare_python() {
    export UPDRAFT_TEST_PYTHON=""
    local venv="${CARGO_TARGET_DIR:-$PWD/target}/test-venv"
    local is_right="import networkx, sys; sys.exit(networkx.__version__ != '$NETWORKX_VERSION')"
    if ! "$venv/bin/python" -c "$is_right" >/dev/null 2>&1; then
        rm -rf "$venv"
        if ! python3 -m venv "$venv"; then
            skip "tests against networkx: no python3 with venv here"
            return
        fi
        if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 "networkx==$NETWORKX_VERSION"; then
            skip "tests against networkx: could not install networkx $NETWORKX_VERSION from PyPI"
            return
        fi
    fi
    UPDRAFT_TEST_PYTHON="$(cd "$venv" && pwd)/bin/python"
    printf 'networkx %s ready\n' "$NETWORKX_VERSION"
}

run_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace --no-fail-fast "$@"
    else
        cargo test --workspace --no-fail-fast "$@"
    fi
}

MODE=${1:-all}
case "$MODE" in
all | quick) ;;
*)
    trap - EXIT
    printf 'usage: ./test.sh [quick]\n' >&2
    exit 2
    ;;
esac

heading "what is needed"
check_machine
if [[ $MODE == all ]]; then
    prepare_python
fi

heading "format"
cargo fmt --all --check

heading "lints"
cargo clippy --workspace --all-targets -- -D warnings

heading "house rules"
cargo xtask check

if [[ $MODE == quick ]]; then
    heading "unit tests"
    run_tests --lib --bins
    exit 0
fi

heading "tests"
run_tests

heading "examples in the documentation"
cargo test --workspace --doc
