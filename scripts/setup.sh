# Shared by the scripts in this directory, which source it: `. "$(dirname "$0")/setup.sh"`.
# It changes to the repository root, finds the prerequisites of builds and tests, and gives every program that is
# started from here a private home directory, so that none of your files are read or written.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }

# stop MESSAGE: exits with the code that `swarm` uses for a missing environment.
stop() {
    say "$(basename "$0"): $*"
    exit 7
}

# usage: the comment at the top of the script, for `--help`.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# wrong MESSAGE: exits with the code that `swarm` uses for invalid arguments.
wrong() {
    say "$(basename "$0"): $*"
    say "  run \`scripts/$(basename "$0") --help\` for usage"
    exit 2
}

# one_of WORD WORD…: whether the first word is one of the others.
one_of() {
    local wanted=$1 word
    shift
    for word in "$@"; do
        [ "$word" = "$wanted" ] && return
    done
    return 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# need PROGRAM PACKAGE: makes sure that a program is installed. Installs its Debian package if that is possible
# without interaction, and otherwise names it.
need() {
    has "$1" && return
    if has apt-get && [ "$(id -u)" = 0 ]; then
        say "$(basename "$0"): \`$1\` is missing, installing the package $2"
        if ! install_package "$2"; then
            stop "\`$1\` is missing and the package $2 could not be installed: install it and run this again"
        fi
        has "$1" && return
    fi
    if has apt-get; then
        stop "\`$1\` is missing: run \`sudo apt-get install $2\` and then this again"
    fi
    stop "\`$1\` is missing: install $2 with your system's package manager and run this again"
}

# want PROGRAM PACKAGE: like `need`, but returns 1 if the program cannot be installed. Debian installs servers in
# directories that are on the search path of root only.
want() {
    has "$1" && return
    [ -x "/usr/sbin/$1" ] && return
    has apt-get && [ "$(id -u)" = 0 ] || return 1
    say "$(basename "$0"): \`$1\` is missing, installing the package $2"
    install_package "$2" && { has "$1" || [ -x "/usr/sbin/$1" ]; }
}

# install_package PACKAGE: without starting its services, which may listen on the ports of yours.
install_package() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    # The package lists may be outdated; they are fetched only if necessary.
    quiet_apt install "$1" || { quiet_apt update && quiet_apt install "$1"; }
)

quiet_apt() {
    local verb=$1
    shift
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends "$verb" "$@" </dev/null >/dev/null
}

# wanted_rust: the Rust version of the workspace.
wanted_rust() { sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml; }

# need_rust: a compiler that is new enough. It is never installed automatically.
need_rust() {
    local wanted found
    wanted=$(wanted_rust)
    has cargo || stop "Rust is missing: install Rust $wanted or newer from https://rustup.rs and run this again"
    found=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$wanted" "${found%%-*}" | sort -V | head -n 1)" = "$wanted" ] ||
        stop "Rust $found is too old: run \`rustup update\` (Rust $wanted or newer is needed) and then this again"
    need cc build-essential
}

# need_component NAME: a component of the Rust toolchain, such as `clippy`.
need_component() {
    cargo "$1" --version >/dev/null 2>&1 && return
    has rustup || stop "\`cargo $1\` is missing: install it with the package manager that Rust came from"
    rustup component add "$1" >&2 || stop "\`cargo $1\` is missing: run \`rustup component add $1\`"
}

# private_home: a scratch directory for this run, removed at its end. Cargo and rustup keep their own directories.
private_home() {
    export CARGO_HOME="${CARGO_HOME:-${HOME:?is not set}/.cargo}"
    export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
    # Sockets are below it and their paths are limited to about a hundred bytes, hence not $TMPDIR.
    scratch=$(mktemp -d /tmp/swarm.XXXXXX)
    trap 'rm -rf "$scratch"' EXIT
    export HOME="$scratch/home" CLAUDE_CONFIG_DIR="$scratch/home/.claude"
    mkdir -p "$CLAUDE_CONFIG_DIR"
    unset SWARM_TEAM SWARM_NAME SWARM_AGENT_ID SWARM_SPAWN_ID
}
