#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make demo: builds the tool and solves two shipped systems, on the GPU too when there is one. JOBS=N: parallel jobs.
set -eu
cd "$(dirname "$0")/.."
bash scripts/setup.sh build
mkdir -p build/demo
build=build/release
build_tool()
{
    cmake --preset release && cmake --build $build -j "${JOBS:-$(nproc)}" --target tessera tessera_cli
}

echo "Building (log in build/demo/build.log) ..."
if ! build_tool >build/demo/build.log 2>&1; then
    tail -n 40 build/demo/build.log
    exit 1
fi
echo "Built in ${SECONDS} s."
tessera=$build/tessera

title() { printf '\n\033[1m%s\033[0m\n' "$1"; }
if [ ! -t 1 ]; then title() { printf '\n== %s\n' "$1"; }; fi
run()
{
    printf '$ %s\n' "$*"
    "$@"
}

title "What is in the file?"
run $tessera info data/nos3.mtx.gz
title "The library chooses a method and says why; the true residual of the FP64 matrix decides"
run $tessera solve data/nos3.mtx.gz --rtol 1e-10 --device cpu --choices none
title "An unsymmetric system by BiCGSTAB, x to a file, everything as JSON"
run $tessera solve data/sherman4.mtx.gz --solver bicgstab --precond jacobi --rtol 1e-10 --device cpu \
    --output build/demo/x.mtx --json build/demo/result.json
title "A model problem of a million unknowns, made and stored"
run $tessera generate laplace3d 100 --output build/demo/laplace3d.tess
run $tessera solve build/demo/laplace3d.tess --solver cg --device cpu
if grep -q '^TESS_GPU_BACKEND_FOUND:INTERNAL=cuda' $build/CMakeCache.txt; then
    title "The same on the GPU"
    run $tessera solve build/demo/laplace3d.tess --solver cg --device cuda
else
    printf '\nNo GPU here, or no nvcc: with both, the same commands run there with --device cuda.\n'
fi
printf '\nThe tool is %s; try %s --help.\n' "$tessera" "$tessera"
