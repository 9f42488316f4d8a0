#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dist.sh: the sources of the present commit as build/dist/tessera-VERSION.tar.gz, and the site of that commit where
# `make site` has made it, in build/site. The same commit gives the same bytes, with the site and without.
set -eu
cd "$(dirname "$0")/.."
if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo "make dist needs a clone by git: the tarball is made of a commit" >&2
    exit 1
fi
if ! git diff --quiet HEAD; then echo "note: changes that are not committed are left out" >&2; fi
version=$(sed -n 's/^project(tessera VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
mkdir -p build/dist
archive=build/dist/tessera-$version.tar
git archive --prefix="tessera-$version/" HEAD >"$archive"
if [ "$(cat build/site/commit 2>/dev/null)" = "$(git rev-parse HEAD)" ]; then
    tar --append --file "$archive" --transform "s,^,tessera-$version/," --sort=name \
        --mtime="@$(git log -1 --format=%ct)" --owner=root:0 --group=root:0 --mode=u=rwX,go=rX build/site
else
    echo "note: without a site: \`make site\` makes it, of this commit"
fi
gzip -9nf "$archive"
ls -l "build/dist/tessera-$version.tar.gz"
