#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh [PRESET [library]]: the Debian packages of a preset: `packages` (libtessera0, libtessera-dev, tessera; in
# build/packages) or `packages-cuda` (libtessera0-cuda; needs nvcc). Their dates are the commit's, so that a second run
# gives the same files. `library`: only the library that is in them, in build/PRESET/lib; Python's wheel takes that of
# `wheel-cuda`. CMAKE_ARGS are added.
set -eu
cd "$(dirname "$0")/.."
preset=${1:-packages}
build=build/$preset
if [ "${2:-}" != library ] && ! command -v dpkg-shlibdeps >/dev/null; then
    echo "The packages need dpkg-shlibdeps: apt-get install dpkg-dev" >&2
    exit 1
fi
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then # without git: a tarball, whose files have the commit's date
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)
    export SOURCE_DATE_EPOCH
fi
export DEB_BUILD_MAINT_OPTIONS=hardening=+bindnow
CFLAGS="$(dpkg-buildflags --get CFLAGS) $(dpkg-buildflags --get CPPFLAGS)"
CXXFLAGS="$(dpkg-buildflags --get CXXFLAGS) $(dpkg-buildflags --get CPPFLAGS)"
LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
export CFLAGS CXXFLAGS LDFLAGS
# shellcheck disable=SC2086 # options
cmake --preset "$preset" ${CMAKE_ARGS:-}
if [ "${2:-}" = library ]; then
    cmake --build "$build" -j "${JOBS:-$(nproc)}" --target tessera
    exit
fi
cmake --build "$build" -j "${JOBS:-$(nproc)}"
rm -f "$build"/*.deb
(cd "$build" && cpack)
ls -l "$build"/*.deb
