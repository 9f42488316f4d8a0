#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages_test.sh [FOLDER]: checks the Debian packages in FOLDER (build/packages) by lintian; then installs them in a
# Debian without anything else, made by mmdebstrap, uses them there, and removes them. Exit 3: such a
# Debian cannot be made here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

check_packages()
{
    local folder release
    folder=$(cd "$1" && pwd)
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    lintian --fail-on error --tag-display-limit 0 "$folder"/*.deb
    echo "== a clean Debian $release"
    # Is a mirror reached, and may this machine make a root and enter it?
    # shellcheck disable=SC2016 # $1 is mmdebstrap's
    mmdebstrap --quiet --variant=minbase --format=null "$release" - --customize-hook='chroot "$1" true' >/dev/null ||
        exit 3
    # shellcheck disable=SC2016 # $1 is mmdebstrap's: the new root
    mmdebstrap --quiet --variant=minbase --format=null --include=man-db "$release" - \
        --customize-hook='mkdir "$1/tmp/packages"' \
        --customize-hook="cp '$here/packages_test.sh' \"\$1/tmp\"" \
        --customize-hook="cp '$folder'/*tessera*.deb \"\$1/tmp/packages\"" \
        --customize-hook='chroot "$1" bash /tmp/packages_test.sh --inside' >/dev/null
}

# ---- within the clean Debian; what it says goes to standard error ----

# must_fail COMMAND...: `!` alone would not end the script
must_fail()
{
    if "$@"; then
        echo "this should have failed: $*" >&2
        return 1
    fi
}

has_run_path()
{
    readelf -d "$1" | grep -i runpath
}

is_known_to_loader()
{
    ldconfig -p | grep tessera
}

use_tool()
{
    tessera --version
    tessera solve gallery:laplace2d:60 --precond cholesky --rtol 1e-10 --html /tmp/report.html
    test -s /tmp/report.html
    man -l /usr/share/man/man1/tessera.1.gz | grep -q timestep
    man tessera-solve | grep -q -e --checkpoint
    bash -c 'source /usr/share/bash-completion/completions/tessera && complete -p tessera'
    must_fail command -v cc # the tool needs no compiler
}

# Present where build/site was, when the packages were made.
read_site()
{
    if compgen -G '/tmp/packages/tessera-doc_*.deb' >/dev/null; then
        apt-get install -y -q --no-install-recommends /tmp/packages/tessera-doc_*.deb
        grep -q tess_solver_solve /usr/share/doc/tessera-doc/html/api/c/solver.html
        apt-get purge -y -q tessera-doc
        rm /tmp/packages/tessera-doc_*.deb
    fi
}

build_examples()
{
    apt-get install -y -q --no-install-recommends /tmp/packages/*.deb gcc g++ libc6-dev make cmake pkg-config
    cp -r /usr/share/doc/libtessera-dev/examples /tmp/examples
    make -C /tmp/examples pkg-config PREFIX=/usr OUT=/tmp/by-pkg-config
    must_fail has_run_path /tmp/by-pkg-config/solve # a system's library needs none
    cmake -S /tmp/examples -B /tmp/by-cmake
    cmake --build /tmp/by-cmake -j 2
    ctest --test-dir /tmp/by-cmake
}

remove_all()
{
    apt-get purge -y -q tessera libtessera-dev libtessera0
    if find /usr /etc /var/lib/dpkg/info -name '*tessera*' | grep .; then
        echo "these files are left" >&2
        return 1
    fi
    must_fail is_known_to_loader
}

inside()
{
    unset "${!CMAKE_@}" CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS # the caller's
    set -x
    export DEBIAN_FRONTEND=noninteractive PAGER=cat
    apt-get install -y -q --no-install-recommends /tmp/packages/libtessera0_*.deb /tmp/packages/tessera_*.deb
    use_tool
    read_site
    build_examples
    remove_all
    echo "The packages were installed, used and removed."
}

if [ "${1:-}" = --inside ]; then
    inside >&2
else
    check_packages "${1:-build/packages}"
fi
