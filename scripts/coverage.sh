#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# coverage.sh BUILD_DIR [LEAST]: branches of src/ and cli/ that the tests took both ways, by file, from the profiles
# that ctest left in BUILD_DIR/profiles (preset coverage). Fails where fewer than LEAST percent of all are (0).
# Host code that only a device runs, device_*.c and *_device.c of multigrid, is counted by device_coverage.py.
# llvm-cov counts each condition of the source once, however often it is inlined, and none that is constant.
set -eu -o pipefail
cd "$(dirname "$0")/.."
build=$1 least=${2:-0}
merged=$build/merged.profdata table=$build/coverage.txt
llvm-profdata merge -sparse -o "$merged" "$build"/profiles/*.profraw
llvm-cov report "$build/lib/libtessera.so" -object "$build/tessera" -instr-profile="$merged" -show-branch-summary \
    -show-region-summary=false -ignore-filename-regex='/device_[a-z_]*\.c$|/multigrid/.*_device\.c$' \
    "$PWD/src" "$PWD/cli" >"$table"
awk -v least="$least" '
    # name, functions missed executed, lines missed cover, branches missed cover; "-" for a file without branches
    NF == 10 && $9 ~ /^[0-9]+$/ && $1 != "TOTAL" && $9 > 0 { printf "%5d of %5d missed  %s\n", $9, $8, $1 | "sort -rn" }
    $1 == "TOTAL" { branches = $8; missed = $9; lines = $5; lost = $6 }
    END {
        close("sort -rn")
        if (!branches) { print "no branches in the report"; exit 1 }
        share = 100 * (branches - missed) / branches
        printf "lines: %d of %d, %.1f %%\n", lines - lost, lines, 100 * (lines - lost) / lines
        printf "branches: %d of %d, %.1f %%, at least %s %%\n", branches - missed, branches, share, least
        exit share < least
    }' "$table"
