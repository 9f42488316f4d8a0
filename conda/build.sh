#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What conda/recipe.yaml runs, in a copy of the sources.
set -eu
# shellcheck disable=SC2154 # PREFIX and CPU_COUNT are of the tool that builds
cmake -S . -B build-conda -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
    -DTESS_CUDA=OFF -DTESS_PETSC=OFF -DTESS_BUILD_TESTS=OFF -DTESS_BUILD_CLI=ON
cmake --build build-conda -j "${CPU_COUNT:-2}"
cmake --install build-conda
