#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing, from packages.txt beside this script.
# Usage: setup.sh build|check|ci|site|site-check
# As root, or through sudo where it asks for no password or a terminal is there to ask on; otherwise it prints the one
# command to run and exits with 1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
list=${TESS_PACKAGES:-$here/packages.txt}

case "${1:-}" in
build) groups="build" ;;
check) groups="build check" ;;
ci) groups="build check ci" ;;
site) groups="site" ;;
site-check) groups="site site-check" ;;
*)
    echo "usage: $0 build|check|ci|site|site-check" >&2
    exit 2
    ;;
esac

missing_packages()
{
    local package group probe
    while read -r package group probe; do
        case "$package" in '' | '#'*) continue ;; esac
        case " $groups " in *" $group "*) ;; *) continue ;; esac
        bash -c "$probe" </dev/null >/dev/null 2>&1 || printf '%s ' "$package"
    done <"$list"
}

missing=$(missing_packages)
missing=${missing% }
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends $missing"
if ! command -v apt-get >/dev/null; then
    echo "Missing: $missing" >&2
    echo "This system has no apt-get: install what corresponds to these Debian packages, then run again." >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    sudo=""
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    sudo="sudo"
else
    echo "Missing packages. Run this as root, then try again:" >&2
    echo "    apt-get update && $install" >&2
    exit 1
fi

echo "Installing: $missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q
# shellcheck disable=SC2086 # the list is meant to be split
$sudo env DEBIAN_FRONTEND=noninteractive $install

missing=$(missing_packages)
if [ -n "$missing" ]; then
    echo "Still missing after installation: $missing" >&2
    exit 1
fi
