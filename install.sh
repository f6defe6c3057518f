#!/bin/sh
# Installs Updraft for one user or, with --prefix, anywhere: from this checkout, from an unpacked release archive, or from
# an archive that is named. What it installs is listed in PREFIX/share/doc/updraft/installed, by which --uninstall removes it.
set -eu
export LC_ALL=C

usage() {
    cat <<'END'
usage: ./install.sh [OPTION]...

  --prefix DIR        install below DIR (default: $UPDRAFT_PREFIX, or ~/.local)
  --archive FILE|URL  install from this release archive (default: $UPDRAFT_ARCHIVE; without one, the program beside this
                      script, or one built from this checkout)
  --sha256 SUM        the archive's SHA-256 (default: $UPDRAFT_SHA256, or what is in FILE.sha256 or URL.sha256)
  --profile NAME      how to build: release (default; quick to build) or dist (small and fast, takes long)
  --workspace DIR     also put a sample .env and a folder artifacts/ into DIR, unless they are there
  --dry-run           say what would be done, and change nothing
  --uninstall         remove what was installed below the prefix; runs and settings stay
  --help              print this
END
}

say() { printf '%s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do printf '  hint: %s\n' "$hint" >&2; done
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# ---- what is wanted

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${UPDRAFT_PREFIX:-}
archive=${UPDRAFT_ARCHIVE:-}
sum=${UPDRAFT_SHA256:-}
profile=release
workspace=
dry=
action=install

while [ $# -gt 0 ]; do
    case $1 in
    --prefix=* | --archive=* | --sha256=* | --profile=* | --workspace=*)
        option=${1%%=*} value=${1#*=}
        shift
        set -- "$option" "$value" "$@"
        continue
        ;;
    --prefix | --archive | --sha256 | --profile | --workspace)
        [ -n "${2:-}" ] || fail "$1 needs a value" "./install.sh --help"
        case $1 in
        --prefix) prefix=$2 ;;
        --archive) archive=$2 ;;
        --sha256) sum=$2 ;;
        --profile) profile=$2 ;;
        --workspace) workspace=$2 ;;
        esac
        shift 2
        ;;
    --dry-run) dry=yes && shift ;;
    --uninstall) action=uninstall && shift ;;
    --help | -h) usage && exit 0 ;;
    *) fail "\`$1\` is not an option" "./install.sh --help" ;;
    esac
done

if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || fail "the home folder is not known" "set HOME, or name a folder with --prefix"
    prefix=$HOME/.local
fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
prefix=${prefix%/}
case $prefix$workspace in
*'
'*) fail "a folder's name with a line break is not supported" ;;
esac
[ -z "$workspace" ] || [ -d "$workspace" ] ||
    fail "there is no folder $workspace" "make it first; --workspace is the folder of your project"
list=$prefix/share/doc/updraft/installed # not in share/updraft, where the journal is

# ---- changes, each in one place, so that --dry-run is complete

scratch=
clean_up() { [ -z "$scratch" ] || rm -rf "$scratch"; }
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
need_scratch() { [ -n "$scratch" ] || scratch=$(mktemp -d "${TMPDIR:-/tmp}/updraft-install.XXXXXX"); }

# Notes in the list, before it is done, that something belongs to the installation.
note() {
    [ -f "$list" ] && grep -qxF -- "$1" "$list" || printf '%s\n' "$1" >>"$list"
}

# A folder with all above it; those that were not there are removed by --uninstall once they are empty.
make_folder() {
    [ -d "$1" ] && return
    make_folder "$(dirname -- "$1")"
    mkdir -- "$1" || fail "could not make the folder $1" "choose another with --prefix"
    made="$made$1
"
}

# The list's own folders are made before there is a list to note them in.
note_made() {
    printf '%s' "$made" | while IFS= read -r folder; do note "folder $folder"; done
    made=
}

# put MODE FROM TO: a copy that is there as a whole or not at all, or nothing if it is there already.
put() {
    planned="$planned$3
"
    if [ -f "$3" ] && cmp -s -- "$2" "$3"; then
        [ -n "$many" ] || say "  same  $3"
        return
    fi
    [ -n "$many" ] || say "  put   $3"
    news=$((news + 1))
    [ -z "$dry" ] || return 0
    make_folder "$(dirname -- "$3")"
    note_made
    note "file $3"
    { cp -- "$2" "$3.new" && chmod "$1" "$3.new" && mv -f -- "$3.new" "$3"; } || fail "could not write $3"
}

# ---- install

sum_of() {
    if has sha256sum; then
        sha256sum <"$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 <"$1" | cut -d ' ' -f 1
    else
        fail "no sha256sum and no shasum to check the archive with" "install coreutils"
    fi
}

fetch() { # URL FILE
    if has curl; then
        curl --fail --silent --show-error --location --output "$2" -- "$1"
    elif has wget; then
        wget --quiet --output-document="$2" -- "$1"
    else
        fail "neither curl nor wget to fetch $1 with" "install one of them, or fetch it yourself and name the file"
    fi
}

# Sets `from`, the folder with the program and all that goes with it.
unpack() {
    has tar || fail "no tar to unpack the archive with"
    need_scratch
    case $archive in
    *://*)
        say "fetching $archive"
        fetch "$archive" "$scratch/archive" || fail "could not fetch $archive"
        if [ -z "$sum" ]; then
            fetch "$archive.sha256" "$scratch/sum" || fail "could not fetch $archive.sha256" "name the checksum with --sha256"
            sum=$(cut -d ' ' -f 1 "$scratch/sum")
        fi
        file=$scratch/archive
        ;;
    *)
        file=$archive
        [ -f "$file" ] || fail "there is no file $file"
        if [ -z "$sum" ]; then
            [ -f "$file.sha256" ] || fail "there is no checksum $file.sha256" "name the checksum with --sha256"
            sum=$(cut -d ' ' -f 1 "$file.sha256")
        fi
        ;;
    esac
    found=$(sum_of "$file")
    [ "$found" = "$(printf '%s' "$sum" | tr 'A-F' 'a-f')" ] ||
        fail "the archive is damaged or another one: its SHA-256 is $found, expected was $sum"
    say "checked the archive: SHA-256 $found"
    mkdir "$scratch/unpacked"
    # By standard input: tar takes a name with a colon for a file on another machine.
    tar -xz -C "$scratch/unpacked" -f - <"$file" || fail "could not unpack the archive"
    for folder in "$scratch"/unpacked/*/; do from=${folder%/}; done
    [ -f "$from/updraft" ] || fail "there is no program in the archive" "take the one named updraft-VERSION-MACHINE.tar.gz"
}

# Rust as new as Cargo.toml asks for, and a C compiler.
check_build() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$here/Cargo.toml" | head -n 1)
    has cargo || fail "no cargo to build with" "install Rust $wanted or newer from https://rustup.rs" "or name a release archive with --archive"
    version=$(cargo --version | cut -d ' ' -f 2)
    oldest=$(printf '%s\n%s\n' "$wanted" "$version" | sort -t . -k 1,1n -k 2,2n | head -n 1)
    [ "$oldest" = "$wanted" ] || fail "cargo is $version, and $wanted is needed" "rustup update"
    has cc || has gcc || has clang || fail "no C compiler (SQLite is built from source)" "install gcc or clang, e.g. apt install build-essential"
}

build() {
    check_build
    say "building: cargo build --locked --profile $profile -p updraft"
    need_scratch
    from=$scratch/built
    mkdir -p "$from/completions"
    if [ -n "$dry" ]; then
        from=
        return
    fi
    (cd "$here" && cargo build --locked --profile "$profile" -p updraft) ||
        fail "the build failed; cargo says why above" "without a network, name a release archive with --archive"
    folder=$profile
    [ "$profile" != dev ] || folder=debug
    target=$(cd "$here" && cargo metadata --format-version 1 --no-deps --offline | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    cp -- "$target/$folder/updraft" "$from/updraft"
    mkdir -p "$from/systemd/user"
    cp -- "$here/LICENSE" "$here/deploy/env.sample" "$from/"
    cp -- "$here/deploy/systemd/user/updraft@.service" "$from/systemd/user/"
    {
        "$from/updraft" man --out "$from/man" &&
            "$from/updraft" completions bash >"$from/completions/updraft.bash" &&
            "$from/updraft" completions zsh >"$from/completions/_updraft" &&
            "$from/updraft" completions fish >"$from/completions/updraft.fish"
    } 2>"$scratch/said" || fail "the program that was built does not work: $(cat "$scratch/said")"
}

put_all() {
    put 755 "$from/updraft" "$prefix/bin/updraft"
    many=yes news=0
    for page in "$from"/man/*.1; do put 644 "$page" "$prefix/share/man/man1/${page##*/}"; done
    if [ "$news" = 0 ]; then
        say "  same  $prefix/share/man/man1/updraft*.1"
    else
        say "  put   $prefix/share/man/man1/updraft*.1 ($news files)"
    fi
    many=
    put 644 "$from/completions/updraft.bash" "$prefix/share/bash-completion/completions/updraft"
    put 644 "$from/completions/_updraft" "$prefix/share/zsh/site-functions/_updraft"
    put 644 "$from/completions/updraft.fish" "$prefix/share/fish/vendor_completions.d/updraft.fish"
    put 644 "$from/env.sample" "$prefix/share/doc/updraft/env.sample"
    put 644 "$from/LICENSE" "$prefix/share/doc/updraft/LICENSE"
    if [ "$(uname -s)" = Linux ]; then
        need_scratch
        escaped=$(printf '%s' "$prefix" | sed 's/[\\&|]/\\&/g; s/%/%%/g')
        sed "s|^ExecStart=/usr/bin/updraft|ExecStart=\"$escaped/bin/updraft\"|" "$from/systemd/user/updraft@.service" >"$scratch/unit"
        put 644 "$scratch/unit" "$prefix/share/systemd/user/updraft@.service"
    fi
}

# What an older version installed and this one does not.
remove_old() {
    [ -f "$list" ] || return 0
    sed -n 's/^file //p' "$list" | while IFS= read -r file; do
        printf '%s' "$planned" | grep -qxF -- "$file" && continue
        say "  remove  $file"
        [ -n "$dry" ] || rm -f -- "$file"
    done
    [ -n "$dry" ] && return
    need_scratch
    { grep -v '^file ' "$list" || true; } >"$scratch/list"
    printf '%s' "$planned" | sed 's/^/file /' >>"$scratch/list"
    cmp -s "$scratch/list" "$list" || { cp -- "$scratch/list" "$list.new" && mv -f -- "$list.new" "$list"; }
}

put_workspace() {
    workspace=$(cd -- "$workspace" && pwd)
    if [ -e "$workspace/.env" ]; then
        say "  keep  $workspace/.env"
    else
        say "  put   $workspace/.env"
        [ -n "$dry" ] || {
            note "sample $workspace/.env"
            (umask 077 && cp -- "$from/env.sample" "$workspace/.env")
        }
    fi
    if [ -d "$workspace/artifacts" ]; then
        say "  keep  $workspace/artifacts"
    else
        say "  make  $workspace/artifacts"
        [ -n "$dry" ] || {
            note "folder $workspace/artifacts"
            mkdir -- "$workspace/artifacts"
        }
    fi
}

install() {
    planned='' made='' many='' news=0
    if [ -n "$archive" ]; then
        unpack
    elif [ -f "$here/updraft" ] && [ -d "$here/completions" ]; then
        from=$here
    elif [ -f "$here/Cargo.toml" ] && [ -f "$here/deploy/env.sample" ]; then # ours, and not that of the folder one is in
        build
    else
        fail "there is nothing to install from beside this script" "name a release archive with --archive FILE or --archive URL"
    fi
    if [ -z "$from" ]; then # a dry run builds nothing, so the manual pages are not known
        say "  put   $prefix/bin/updraft, with manual pages, completions, a sample of .env and a systemd unit in $prefix/share"
        return
    fi
    version=$("$from/updraft" --version 2>&1) || fail "the program cannot be started on this machine ($(uname -sm)): $version" \
        "take the archive for this machine, or build it from a checkout"
    say "$version, to $prefix"
    if [ -z "$dry" ]; then
        make_folder "${list%/*}"
        note_made
    fi
    put_all
    [ -z "$workspace" ] || put_workspace
    remove_old
    [ -z "$dry" ] || return 0
    case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) say "add it to your PATH, in the shell's start file: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
    say "installed; \`updraft doctor\` says what works here"
}

# ---- uninstall

uninstall() {
    [ -f "$list" ] || fail "nothing is installed below $prefix: there is no $list" "name the folder you installed to with --prefix"
    need_scratch
    cp -- "$list" "$scratch/list"
    sample=$prefix/share/doc/updraft/env.sample
    # A .env that was written to is the user's.
    sed -n 's/^sample //p' "$scratch/list" | while IFS= read -r file; do
        if [ -f "$file" ] && cmp -s -- "$sample" "$file"; then
            say "  remove  $file"
            [ -n "$dry" ] || rm -f -- "$file"
        elif [ -f "$file" ]; then
            say "  keep    $file (it was changed)"
        fi
    done
    sed -n 's/^file //p' "$scratch/list" | while IFS= read -r file; do
        say "  remove  $file"
        [ -n "$dry" ] || rm -f -- "$file" "$file.new"
    done
    [ -z "$dry" ] || return 0
    rm -f -- "$list"
    # The innermost folder has the longest name.
    sed -n 's/^folder //p' "$scratch/list" | awk '{ print length($0) "\t" $0 }' | sort -rn | cut -f 2- |
        while IFS= read -r folder; do
            [ ! -d "$folder" ] || rmdir -- "$folder" 2>/dev/null || say "  keep    $folder (it is not empty)"
        done
    say "uninstalled; runs and settings stay in ${UPDRAFT_HOME:-~/.config/updraft, ~/.local/share/updraft, ~/.local/state/updraft and ~/.cache/updraft}"
}

"$action"
