#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python.sh prepare | build LIBRARY | test [OPTION...]: the Python package in a virtual environment, build/python.
# prepare: installs what building and testing need from PyPI; exit 3: PyPI is not reached, or there is no venv module.
# build: makes the wheel around a library that is built already, and installs it. test: pytest on python/tests.
set -eu
cd "$(dirname "$0")/.."
venv=$PWD/build/python
wanted="scikit-build-core>=0.10 pycparser numpy scipy pytest hypothesis pyamg matplotlib tqdm"

prepare()
{
    local stamp=$venv/wanted
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    rm -rf "$venv"
    python3 -m venv "$venv" || exit 3
    # shellcheck disable=SC2086 # a list
    "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 --timeout 15 $wanted || exit 3
    echo "$wanted" >"$stamp"
}

build()
{
    local wheels=$venv/wheels
    rm -rf "$wheels"
    "$venv/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$wheels" ./python \
        -C cmake.define.TESSERA_PREBUILT="$(readlink -f "$1")" -C build-dir="$venv/cmake"
    "$venv/bin/pip" install -q --disable-pip-version-check --no-deps --force-reinstall "$wheels"/*.whl
}

command=$1
shift
case $command in
prepare) prepare ;;
build) build "$@" ;;
test) PATH="$venv/bin:$PATH" MPLBACKEND=Agg "$venv/bin/python" -m pytest -c python/pyproject.toml python/tests "$@" ;;
*)
    sed -n '3,5p' "$0"
    exit 2
    ;;
esac
