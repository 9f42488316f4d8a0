#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that know PETSc alone, with the plug-in by options: examples.sh BUILD PLUGIN MPIEXEC [FLAG...]
set -u
build=$1 plugin=$2 matrix=$1/petsc_example.petsc
shift 2
"$build/tessera" convert "$TESS_DATA_DIR/nos3.mtx.gz" "$matrix" >/dev/null || exit 1
failed=0

# check RANKS "wanted pattern" PROGRAM OPTION...
check()
{
    local ranks=$1 wanted=$2 program=$build/tests/petsc_example_$3 out
    shift 3
    out=$("${mpiexec[@]}" -n "$ranks" "$program" -dll_append "$plugin" "$@" 2>&1)
    if ! grep -Eq "$wanted" <<<"$out"; then
        printf 'FAILED: %s ranks, %s %s: no "%s" in\n%s\n' "$ranks" "$program" "$*" "$wanted" "$out" | head -n 60
        failed=1
    fi
}

mpiexec=("$@")
for ranks in 1 2; do
    check $ranks 'type: (seq|mpi)aijtessera' poisson -mat_type tessera -ksp_type cg -pc_type jacobi -ksp_view
    check $ranks 'true residual' poisson -mat_type tessera -ksp_type tessera -pc_type jacobi -ksp_view
    check $ranks 'gamg, levels in fp32' poisson -ksp_type cg -pc_type tessera -pc_tessera_type gamg -ksp_view
    check $ranks 'gamg, levels in fp16' poisson -pc_type tessera -pc_tessera_type gamg -pc_tessera_precision fp16 \
        -ksp_view
done
check 2 'CONVERGED_RTOL' poisson -mat_type tessera -pc_type tessera -pc_tessera_type ilu0
check 1 'level 0: .* fp32' poisson -ksp_type cg -pc_type tessera -pc_tessera_precision fp32,fp16 -ksp_view
check 1 'level 1: .* fp16' poisson -ksp_type cg -pc_type tessera -pc_tessera_precision fp32,fp16 -ksp_view
check 4 'CONVERGED_RTOL' elasticity -dm_mat_type tessera -ksp_type tessera -pc_type tessera -pc_tessera_type gamg
check 1 'vectors of the cycle in fp32' elasticity -cells 16 -pc_type tessera -pc_tessera_type gamg -ksp_view
check 2 'halo in fp16' poisson -mat_type tessera -mat_tessera_halo fp16 -ksp_type tessera -pc_type jacobi -ksp_view
check 1 'tessera_format: unknown value .ccsr.; did you mean .csr.' poisson -mat_type tessera -mat_tessera_format ccsr
check 2 'CONVERGED_RTOL' file -file "$matrix" -mat_type tessera -ksp_type tessera -pc_type jacobi -ksp_max_it 2000
exit $failed
