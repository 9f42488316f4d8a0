#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh BUILD_DIR: clang-tidy over the library and the tool, with the compile commands of BUILD_DIR (made by clang).
set -eu
cd "$(dirname "$0")/.."
find src cli -name '*.c' -print0 | xargs -0 -r -n 4 -P "${JOBS:-$(nproc)}" clang-tidy -p "$1" --quiet
