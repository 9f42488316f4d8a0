#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What docs/results/petsc.md tells: PETSc programs with our types beside PETSc's own, in turn in one process.
# petsc.sh [product|multigrid|ex56|claims|halo]...
# RANKS (2), ROUNDS (9), ALL_RANKS (1 2 4) and CELLS (20) of multigrid, MATRICES (a folder with NAME.mtx.gz),
# CLASSES (spd unsym), UNSYM_PC (bjacobi), SECONDS_EACH (300); those of ex56: petsc_ex56.sh
# Needs a build with tests: the examples of petsc/.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build/release}
cells=${CELLS:-20} ranks=${RANKS:-2} rounds=${ROUNDS:-9} seconds=${SECONDS_EACH:-300}
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive OMPI_MCA_btl_vader_single_copy_mechanism=none

# run PROGRAM OPTION...
run()
{
    local program=$build/tests/petsc_example_$1
    shift
    timeout "$seconds" mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$ranks" "$program" \
        -dll_append "$build/lib/libtessera_petsc.so" "$@" </dev/null
}


product()
{
    echo "## CG with Jacobi, laplace3d-100, 30 iterations, $ranks ranks: AIJ; default; csr in FP64; dia in FP32"
    run poisson -points 100 -repeat "$rounds" -variants 4 \
        $(for v in 0 1 2 3; do echo "-v${v}_ksp_type cg -v${v}_pc_type jacobi -v${v}_ksp_max_it 30"; done) \
        -v0_mat_type aij -v1_mat_type tessera -v2_mat_type tessera -v2_mat_tessera_format csr \
        -v2_mat_tessera_precision fp64 -v3_mat_type tessera -v3_mat_tessera_format dia -v3_mat_tessera_precision fp32
}

multigrid()
{
    for ranks in ${ALL_RANKS:-1 2 4}; do
        echo "## elasticity, $cells cells a side, CG to 1e-8, $ranks ranks: PCGAMG; gamg in fp64, fp32, fp16;"
        echo "## fp32 and fp16 with a matrix of ours; seconds of the processor"
        # shellcheck disable=SC2046 # the options are meant to be split
        run elasticity -cells "$cells" -repeat "$rounds" -processor_time -variants 6 \
            $(for v in 0 1 2 3 4 5; do echo "-v${v}_ksp_type cg -v${v}_ksp_rtol 1e-8 -v${v}_pc_type tessera" \
                "-v${v}_ksp_norm_type unpreconditioned -v${v}_pc_tessera_type gamg"; done) \
            -v0_pc_type gamg -v1_pc_tessera_precision fp64 -v2_pc_tessera_precision fp32 \
            -v3_pc_tessera_precision fp16 -v4_pc_tessera_precision fp32 -v4_mat_type tessera \
            -v5_pc_tessera_precision fp16 -v5_mat_type tessera
    done
}

# PETSc's own program, several runs of it in turn
ex56() { BUILD=$build ROUNDS=$rounds bench/petsc_ex56.sh; }

halo()
{
    for halo in fp64 fp32 fp16; do
        echo "## halo in $halo, $ranks ranks: gamg of elasticity, levels in fp32;"
        echo "## laplace3d-40 under KSP tessera, with a right-hand side of ones, and a random one"
        run elasticity -cells 20 -ksp_type cg -ksp_rtol 1e-8 -pc_type tessera -pc_tessera_type gamg \
            -pc_tessera_precision fp32 -pc_tessera_halo $halo
        for side in "" -random; do
            # shellcheck disable=SC2086 # nothing, or an option
            run poisson -points 40 $side -mat_type tessera -mat_tessera_halo $halo -ksp_type tessera -ksp_rtol 1e-8 \
                -pc_type jacobi -ksp_view | grep -E 'CONVERGED|bytes' | sort -u
        done
    done
}

# One matrix: what a method of PETSc claims, and the true residual; then under KSP tessera. A line for each.
claim()
{
    local name=$1 method=$2 precond=$3 own=$4 common out
    $build/tessera convert "$MATRICES/$name.mtx.gz" "$work/A.petsc" >/dev/null 2>&1 || return
    common=$(for v in 0 1; do echo "-v${v}_mat_type tessera -v${v}_pc_type $precond" \
        "-v${v}_ksp_rtol 1e-10 -v${v}_ksp_max_it 3000"; done)
    # shellcheck disable=SC2086 # the options are meant to be split
    out=$(run file -file "$work/A.petsc" -variants 2 $common -v0_ksp_type "$method" -v1_ksp_type tessera \
        -v1_ksp_tessera_solver "$own" 2>/dev/null | grep '^v[01]_')
    echo "${out:-no result in $seconds s}" | sed "s/^/$name /; s/v0_/petsc/; s/v1_/tessera/"
}

# Counts what was claimed with a true residual above 1.005e-10: the examples compute it in FP64.
claims()
{
    local class rest name work
    work=$(mktemp -d)
    echo "## claims of 1e-10, $ranks ranks: CG with Jacobi (spd), GMRES with ${UNSYM_PC:-bjacobi} (unsym)"
    while IFS=$'\t' read -r name _ _ _ class rest; do
        case " ${CLASSES:-spd unsym} " in *" $class "*) ;; *) continue ;; esac
        case "$class" in
        spd) claim "$name" cg jacobi cg ;;
        unsym) claim "$name" gmres "${UNSYM_PC:-bjacobi}" gmres ;;
        esac
    done <"$MATRICES/MANIFEST.tsv" | tee "$work/claims"
    awk '$2 != "no" { solves[$2]++ }
        /CONVERGED_/ && !/DIVERGED/ {
            claimed[$2]++
            for (k = 1; k < NF; k++) if ($k == "residual" && $(k + 1) + 0 > 1.005e-10) wrong[$2]++
        }
        END {
            for (t in solves) print t ": " solves[t] " solves, " claimed[t] + 0 " converged, " wrong[t] + 0 " falsely"
        }
        ' "$work/claims"
    rm -rf "$work"
}

for part in "${@:-product}"; do $part; done
