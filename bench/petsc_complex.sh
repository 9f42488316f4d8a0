#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# petsc_complex.sh [MATRIX...]: complex Krylov methods of PETSc's complex build beside ours, in turn in one process, on
# one thread (bench/petsc_complex.c). MATRIX: a file, or NAME:N of the gallery. Needs Debian's libpetsc-complex-dev.
# RTOL (1e-8), ROUNDS (3); BUILD: the build folder; PETSC_COMPLEX: where PETSc's complex build lies.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
petsc=${PETSC_COMPLEX:-/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-complex}
if [ ! -e "$petsc/include/petscconf.h" ]; then
    echo "PETSc's complex build is not there: install libpetsc-complex-dev" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libraries=$petsc/lib
mpicc -O2 -Wall -Wextra bench/petsc_complex.c -o "$work/petsc_complex" -I "$petsc/include" -I include \
    -I "$build/include" -L "$libraries" -lpetsc_complex -L "$build/lib" -ltessera -lm \
    -Wl,-rpath,"$libraries:$(readlink -f "$build/lib")"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ $# -gt 0 ] || set -- helmholtz2d:60 eddy3d:46
"$work/petsc_complex" "${RTOL:-1e-8}" "${ROUNDS:-3}" "$@"
