#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dist.sh: the sources of the present commit as build/dist/tessera-VERSION.tar.gz. The same commit gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo "make dist needs a clone by git: the tarball is made of a commit" >&2
    exit 1
fi
if ! git diff --quiet HEAD; then echo "note: changes that are not committed are left out" >&2; fi
version=$(sed -n 's/^project(tessera VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
mkdir -p build/dist
git archive --prefix="tessera-$version/" HEAD | gzip -9n >"build/dist/tessera-$version.tar.gz"
ls -l "build/dist/tessera-$version.tar.gz"
