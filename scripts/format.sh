#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# format.sh [--check]: clang-format over all C, C++ and CUDA sources.
set -eu
cd "$(dirname "$0")/.."
options=(-i)
if [ "${1:-}" = --check ]; then options=(--dry-run -Werror); fi
find include src cli tests bench examples petsc python/xla.c -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 -r -n 16 clang-format --style=file "${options[@]}"
