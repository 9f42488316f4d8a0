#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh BUILD_DIR: clang-tidy over the library and the tool, with the compile commands of BUILD_DIR (made by clang).
# Of the host's kernels, made from one text for each type, the analyzer would follow every instance for minutes.
set -eu
cd "$(dirname "$0")/.."
tidy="xargs -0 -r -n 4 -P ${JOBS:-$(nproc)} clang-tidy -p $1 --quiet"
find src cli -name '*.c' ! -name '*_host.c' -print0 | $tidy
find src cli -name '*_host.c' -print0 | $tidy --checks='-clang-analyzer-*'
