#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PETSc programs on GPUs with our types beside PETSc's own, in turn in one process: the GPU part of
# docs/results/petsc.md. Needs a PETSc with CUDA, and a build of the plug-in and its tests for it.
# petsc_gpu.sh [test|product|small|multigrid|weak|ex56]...   all but weak and ex56 by default, some 100 s
# ex56: on EX56_RANKS (1) processes; EX56, a ready program of this PETSc, and NE: petsc_ex56.sh
# weak: on 1 GPU and on GPUS (2; or 2 4) of them, a process each, with as many unknowns for each; some 100 s for each
# BUILD: the build (build/release); ROUNDS (5); POINTS of laplace3d (150); CELLS of the elastic block (32)
# SECONDS_EACH (300): the longest run; PLAIN (aijcusparse): PETSc's type
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build/release} rounds=${ROUNDS:-5} points=${POINTS:-150} cells=${CELLS:-32} gpus=${GPUS:-2}
plugin=$build/lib/libtessera_petsc.so plain=${PLAIN:-aijcusparse} failed=0
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMPI_MCA_btl_vader_single_copy_mechanism=none

# run RANKS PROGRAM OPTION...: processes take GPUs in turn, and their messages go over the host
run()
{
    local ranks=$1 program=$build/tests/petsc_$2
    shift 2
    timeout "${SECONDS_EACH:-300}" mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$ranks" "$program" \
        -use_gpu_aware_mpi 0 "$@" </dev/null 2>&1
}

# Adds the microseconds of an iteration to the lines of solves.
per_iteration()
{
    awk '/ iterations, / {
            for (k = 2; k < NF; k++) {
                if ($k == "iterations,") n = $(k - 1)
                if ($k == "s," && !t) t = $(k - 1)
            }
            if (n > 0) $0 = $0 sprintf(", %.2f us an iteration", 1e6 * t / n)
            t = 0
        }
        { print }'
}

# variants NUMBER OPTION...: options that all variants have
variants()
{
    local v count=$1
    shift
    for ((v = 0; v < count; v++)); do printf -- "-v${v}_%s " "$@"; done
}

test()
{
    local ranks
    for ranks in 1 2 4; do
        echo "## tests of device vectors, $ranks ranks"
        TESS_NEED_GPU=1 run "$ranks" gpu || { failed=1; echo "FAILED"; }
    done
}

product()
{
    local iterations=300
    echo "## CG with Jacobi, laplace3d-$points, $iterations iterations: aijcusparse; ours lossless; ours csr in FP64;"
    echo "## KSP tessera lossless"
    # shellcheck disable=SC2046 # the options are meant to be split
    run 1 example_poisson -points "$points" -dll_append "$plugin" -repeat "$rounds" -variants 4 \
        $(variants 4 "ksp_max_it $iterations" "ksp_rtol 1e-30" "ksp_type cg" "pc_type jacobi") \
        -v0_mat_type "$plain" -v1_mat_type tessera -v2_mat_type tessera -v2_mat_tessera_format csr \
        -v2_mat_tessera_precision fp64 -v3_mat_type tessera -v3_ksp_type tessera -v3_ksp_tessera_solver cg \
        -v3_pc_type tessera -v3_pc_tessera_type jacobi | per_iteration
}

small()
{
    local side
    for side in 16 25 32 40; do
        echo "## CG with Jacobi to 1e-10, n = $((side * side * side)): aijcusparse; ours under PETSc's CG; KSP tessera"
        # shellcheck disable=SC2046 # the options are meant to be split
        run 1 example_poisson -points $side -dll_append "$plugin" -repeat $((4 * rounds)) -variants 3 \
            $(variants 3 "ksp_rtol 1e-10" "ksp_type cg" "pc_type jacobi" "ksp_norm_type unpreconditioned") \
            -v0_mat_type "$plain" -v1_mat_type tessera -v2_mat_type tessera -v2_ksp_type tessera \
            -v2_ksp_tessera_solver cg -v2_pc_type tessera -v2_pc_tessera_type jacobi | per_iteration
    done
}

multigrid()
{
    local ranks
    for ranks in 1 4; do
        echo "## elasticity, $cells cells a side, CG to 1e-8, $ranks ranks on one GPU: PCGAMG with aijcusparse;"
        echo "## gamg in fp64, fp32, fp16; fp16, each process with its own rows"
        # shellcheck disable=SC2046 # the options are meant to be split
        run "$ranks" example_elasticity -cells "$cells" -dll_append "$plugin" -repeat "$rounds" -variants 5 \
            $(variants 5 "ksp_rtol 1e-8" "ksp_type cg" "pc_type tessera" "pc_tessera_type gamg" \
                "ksp_norm_type unpreconditioned" "mat_type tessera") \
            -v0_mat_type "$plain" -v0_pc_type gamg -v1_pc_tessera_precision fp64 -v2_pc_tessera_precision fp32 \
            -v4_pc_tessera_gather none
    done
}

# bar RANKS OPTION...: laplace3d-POINTS for each process, one behind the other
bar()
{
    local ranks=$1
    shift
    run "$ranks" example_poisson -points "$points" -depth $((points * ranks)) -dll_append "$plugin" \
        -repeat "$rounds" "$@" | grep -E '^v|ERROR' | sed "s/^/$ranks: /"
}

# Adds to the lines of several processes the time of one process over theirs, by the least time: 1 is perfect.
efficiency()
{
    awk '{
            t = 0
            for (k = 2; k < NF; k++) if ($k == "s," && !t) t = $(k - 1)
            if ($1 == "1:") one[$2] = t
            else if (t > 0 && one[$2] > 0) $0 = $0 sprintf(", efficiency %.2f", one[$2] / t)
        }
        { print }'
}

weak()
{
    local ranks
    echo "## which GPU each process has"
    run "${gpus##* }" example_poisson -points 8 -dll_append "$plugin" -mat_type tessera -device_view |
        grep -iE 'name|id|pci' | head -n 20
    echo "## weak scaling, $points^3 unknowns a process, CG with Jacobi, 300 iterations: aijcusparse; ours exact, halo"
    echo "## in fp64, fp32, fp16"
    # shellcheck disable=SC2046 # the options are meant to be split
    for ranks in 1 $gpus; do
        bar "$ranks" -variants 4 $(variants 4 "ksp_max_it 300" "ksp_rtol 1e-30" "ksp_type cg" "pc_type jacobi" \
            "mat_type tessera") -v0_mat_type "$plain" -v2_mat_tessera_halo fp32 -v3_mat_tessera_halo fp16
    done | per_iteration | efficiency
    echo "## the same to a true residual of 1e-8: PETSc's CG, aijcusparse; KSP tessera, halo in fp64, fp32, fp16"
    # shellcheck disable=SC2046
    for ranks in 1 $gpus; do
        bar "$ranks" -variants 4 $(variants 4 "ksp_rtol 1e-8" "ksp_max_it 3000" "ksp_type tessera" "pc_type jacobi" \
            "ksp_tessera_solver cg" "mat_type tessera" "ksp_norm_type unpreconditioned") -v0_mat_type "$plain" \
            -v0_ksp_type cg -v2_mat_tessera_halo fp32 -v3_mat_tessera_halo fp16
    done | efficiency
    echo "## multigrid, CG to 1e-8: PCGAMG, aijcusparse; gamg fp32; fp16; fp16, halo fp32; fp16, set-up on the host;"
    echo "## bjacobi with amg of ours"
    # shellcheck disable=SC2046
    for ranks in 1 $gpus; do
        bar "$ranks" -variants 6 $(variants 6 "ksp_rtol 1e-8" "ksp_type cg" "pc_type tessera" "pc_tessera_type gamg" \
            "ksp_norm_type unpreconditioned" "mat_type tessera") -v0_mat_type "$plain" -v0_pc_type gamg \
            -v1_pc_tessera_precision fp32 -v3_pc_tessera_halo fp32 -v4_pc_tessera_setup cpu -v5_pc_type bjacobi \
            -v5_sub_pc_type tessera -v5_sub_pc_tessera_type amg
    done | efficiency
}

ex56()
{
    BUILD=$build ROUNDS=$rounds PLAIN=$plain EX56_RANKS=${EX56_RANKS:-1} \
        EX56_OPTIONS="-use_gpu_aware_mpi 0 ${EX56_OPTIONS:-}" bench/petsc_ex56.sh || failed=1
}

[ $# -gt 0 ] || set -- test product small multigrid
for part in "$@"; do $part; done
exit $failed
