# SPDX-License-Identifier: Apache-2.0
# Commands, options, and how wrong ones are refused.
expect 2
err_has 'Usage: tessera COMMAND'
expect 0 --help
out_has 'Commands:'
expect 0 help
out_has 'Commands:'
expect 0 --version
out_has '^tessera [0-9]+\.[0-9]+\.[0-9]+'
for command in info spmv solve compare generate convert; do
    expect 0 $command --help
    out_has "^Usage: tessera $command"
    err_empty
    expect 0 help $command
    out_has "^Usage: tessera $command"
    expect 2 $command --no-such-option
    err_has "unknown option '--no-such-option'"
    expect 2 $command -x
    err_has "unknown option '-x'"
    expect 2 $command
done
expect 2 slove
err_has "did you mean 'solve'"
expect 2 help slove
err_has "did you mean 'solve'"
expect 2 qqqqqqqqqqqqq
err_has "unknown command"
expect 2 --verison
err_has "did you mean '--version'"

expect 2 solve spd.mtx --rtoll 1e-3
err_has "did you mean '--rtol'"
expect 2 solve spd.mtx --max-iteration=5 --sovler cg
err_has "did you mean '--solver'"
expect 2 solve spd.mtx -rtol 1e-3
err_has "did you mean '--rtol'"
expect 2 generate laplace2d 3 -o out.mtx
err_has "did you mean '--output'"
expect 0 solve spd.mtx --max-iter=50
expect 2 solve spd.mtx --rtol
err_has 'requires an argument'
expect 2 solve spd.mtx --json --rtol 1e-3
err_has "'--json' requires an argument"
absent ./--rtol
expect 2 solve spd.mtx unsym.mtx
err_has "unsym.mtx"
expect 2 spmv spd.mtx --solver cg
err_has "unknown option '--solver'"

for option in reduction; do
    expect 2 solve spd.mtx --$option 1
    err_has "'--$option' is not available in this version"
done
for value in "matrix-precision fp8" \
    "matrix-precision fp16:scaled"; do
    # shellcheck disable=SC2086
    expect 2 solve spd.mtx --$value
    err_has "unknown value .*vailable: fp64"
done
expect 2 solve spd.mtx --solver bicgstb
err_has "did you mean 'bicgstab'"
expect 2 solve spd.mtx --guard repare
err_has "did you mean 'repair'"
expect 2 solve spd.mtx --precond jacoby
err_has "did you mean 'jacobi'"
expect 2 solve spd.mtx --scale max-prodct
err_has "did you mean 'max-product'"
expect 2 solve spd.mtx --reorder rmc
err_has "did you mean 'rcm'"
expect 2 spmv spd.mtx --reorder rcm
expect 2 solve spd.mtx --solver gmres-if
err_has "did you mean 'gmres-i[rf]'|did you mean 'gmres-fd'"
expect 2 solve spd.mtx --preset yong
err_has "did you mean 'yang'"
expect 2 solve spd.mtx --device gpu0
err_has 'unknown value'

for bad in "rtol abc" "rtol 1e-8x" "rtol nan" "rtol=-1" "atol inf" "max-iterations 1.5" "max-iterations=-1" \
    "max-iterations 99999999999999999999" "threads 0" "threads two" "seed=-1" "seed 18446744073709551616" \
    "rhs random:x" "precond block-jacobi:0" "precond block-jacobi:65" "precond block-jacobi:" \
    "divergence-tolerance 0" "restart 0" "restart=-3" "restart 1.5" "switch-at 0" "precond polynomial:0" \
    "precond polynomial:201" "precond polynomial:" "precond polynomial:4x" "precond ilu0:2" "precond ilu" "precond ilut:" "precond ilut:x" "precond ilut:-1" "precond ilut:1e-3:" \
    "precond ilut:1e-3:0" "precond ict:1e-3:2:3" "precond iluk:0" "precond iluk:1001" "precond lu:1" "factor-memory 0" \
    "factor-memory 4X" "factor-memory G" \
    "leaf 0" "triangular rows" "factorization gpu" "precond-format split2" "precond-policy mean-range:x" "precond-levels fp32,fp64"; do
    # shellcheck disable=SC2086
    expect 2 solve spd.mtx --$bad
done
for engine in graph single-kernel; do
    expect 2 solve spd.mtx --engine $engine --device cpu
    err_has "--engine $engine needs a GPU"
done
expect 2 solve spd.mtx --recurrence one-reductoin
err_has "did you mean 'one-reduction'"
expect 2 solve spd.mtx --solver gmres --recurrence standard
err_has '--recurrence is for --solver cg or bicgstab'
expect 2 timestep spd.mtx --engine single-kernel
err_has '--engine single-kernel is for solve'

# PETSc's names
expect 0 solve spd.mtx -ksp_type cg -pc_type bjacobi -ksp_rtol 1e-9 -ksp_atol 0 -ksp_divtol 1e5 -ksp_max_it 50 \
    -ksp_monitor_true_residual -ksp_converged_reason --json petsc.json
err_has '^ *1 +residual'
json petsc.json 'j["solver"] == "cg" and j["precond"].startswith("block-jacobi") and j["options"]["rtol"] == 1e-9'
json petsc.json 'j["options"]["max_iterations"] == 50 and j["options"]["divergence_tolerance"] == 1e5'
expect 0 solve unsym.mtx -ksp_type bcgs --json petsc.json
json petsc.json 'j["solver"] == "bicgstab"'
expect 0 solve unsym.mtx -ksp_type gmres -ksp_gmres_restart 30 --json petsc.json
json petsc.json 'j["solver"] == "gmres" and j["options"]["restart"] == 30 and j["options"]["basis_precision"] == "fp64"'
expect 2 solve unsym.mtx -ksp_type gmres -ksp_gmres_restart 0
err_has 'restart'
expect 2 solve spd.mtx -ksp_rtoll 1
err_has "did you mean '-ksp_rtol'"
expect 2 solve spd.mtx -ksp_rtol
err_has 'requires an argument'
expect 2 spmv spd.mtx -ksp_rtol 1
expect 2 solve spd.mtx --history ''
expect 2 spmv spd.mtx --output -
