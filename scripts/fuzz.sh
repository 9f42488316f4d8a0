#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [TARGET [RUNS]]: runs a fuzz target of build/dev from the seed corpus. Without RUNS it goes on until stopped
# (Ctrl-C) or until an input fails, and keeps what it finds in build/dev/found/; with RUNS it is the same run each time.
# fuzz_files:READER gives every input to one reader (tests/fuzz/fuzz_files.c has their words). FUZZ_BUILD: another build
# folder. FUZZ_TIMEOUT: seconds that an input may take (30).
set -eu
cd "$(dirname "$0")/.."
target=${1:-}
build=${FUZZ_BUILD:-build/dev}
if [ -z "$target" ]; then
    echo "Targets:" && (cd "$build/fuzz" && ls fuzz_*)
    exit 0
fi
runs=${2:-}
reader=
case "$target" in *:*)
    reader=${target#*:} target=${target%%:*}
    export FUZZ_READER=$reader
    ;;
esac
program=$build/fuzz/$target
name=${target#fuzz_}
seeds=tests/fuzz/corpus/$name
[ -d "$seeds" ] || seeds=tests/fuzz/corpus # shared by the targets that have none of their own
found=$build/found/$name${reader:+-$reader}
crashes=$build/crashes/
length=4096
if [ "$name" = files ]; then # those of other programs, and what is in those that are compressed
    seeds=$build/seeds${reader:+-$reader} length=12288
    rm -rf "$seeds" && mkdir -p "$seeds"
    for folder in tests/fuzz/corpus tests/files tests/files/others; do # some names are in two of them
        find "$folder" -maxdepth 1 -type f ! -name '*.md' ! -name '*.sh' ! -name '*.py' -exec cp {} "$seeds" \;
    done
    gunzip -f "$seeds"/*.h5.gz "$seeds"/*.mat.gz
fi
mkdir -p "$crashes"
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=2
options=(-artifact_prefix="$crashes" -rss_limit_mb=4096 -timeout="${FUZZ_TIMEOUT:-30}" -max_len="$length")
if [ -n "$runs" ]; then
    found=$(mktemp -d)
    trap 'rm -rf "$found"' EXIT
    "$program" "${options[@]}" -seed=1 -runs="$runs" "$found" "$seeds"
else
    mkdir -p "$found"
    "$program" "${options[@]}" "$found" "$seeds"
fi
