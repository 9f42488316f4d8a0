# SPDX-License-Identifier: Apache-2.0
# Options of all commands, wherever they stand.
for command in info spmv solve compare generate convert timestep; do
    for option in --usage -V --version '-?' --help; do
        expect 0 $command "$option"
        err_empty
    done
    expect 0 $command --usage
    out_has "^Usage: tessera $command "
    out_has '\[--help\]|\[--json=FILE\]'
    expect 0 $command -V
    out_has '^tessera [0-9]'
done
for columns in 40 79 500 x; do # no narrower than can be read, no wider than it is written
    label="COLUMNS=$columns tessera solve --help"
    COLUMNS=$columns "$tool" solve --help >out 2>err && [ -s out ] && pass || fail "$(head -c 100 err)"
    longest=$(awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }' out)
    [ "$longest" -le 100 ] && pass || fail "a line of $longest characters"
done
expect 0 solve -- spd.mtx
expect 3 solve -- --rtol # a file of that name
err_has '^tessera solve: --rtol: '
expect 3 solve -- -spd.mtx
err_has '^tessera solve: -spd.mtx: '
expect 2 solve spd.mtx --r 1
err_has "option '--r' is ambiguous; it may be '--[a-z-]+' or '--[a-z-]+'"
expect 2 solve spd.mtx --=5
err_has "unknown option '--'"
expect 2 solve spd.mtx "--$(printf 'a%.0s' $(seq 200))"
err_has "unknown option '--a{64}'; --help lists the options"
expect 2 solve spd.mtx --preset nothing-like-it
err_has "unknown preset 'nothing-like-it'; available: yang, tezcan-jacobi or loe"
expect 2 solve spd.mtx --preset
err_has "'--?preset' requires an argument"
expect 2 info spd.mtx unsym.mtx
err_has "unsym.mtx"
expect 2 spmv spd.mtx unsym.mtx
err_has "unsym.mtx"
expect 2 compare spd.mtx unsym.mtx
err_has "unsym.mtx"
expect 2 timestep spd.mtx unsym.mtx
err_has "unsym.mtx"
expect 2 solve spd.mtx --json ''
err_has "the file name is empty"
# shellcheck disable=SC2046
expect 2 info "gallery:laplace2d:1$(printf ':%d' $(seq 2 40))"
err_has "there are too many arguments in 'gallery:laplace2d:1:"
expect 2 info gallery:laplace2d:0
err_has 'laplace2d'
# shellcheck disable=SC2046
expect 2 generate laplace2d $(seq 20) --output a.mtx
err_has "there are too many arguments, from '[0-9]+' on"
expect 4 solve spd.mtx --device cuda --engine graph
expect 4 solve spd.mtx --device gpu --engine graph
expect 2 timestep spd.mtx --engine graph --device cpu
err_has "engine graph needs a GPU|--engine graph"
expect 2 timestep spd.mtx --steps fp64:9007199254740993,fp64:9007199254740993
err_has 'time steps, which is too many|steps'
expect 3 timestep wide.mtx
err_has 'square'
expect 0 spmv spd.mtx --seed 5 --x random --json seed.json
json seed.json 'j["x"] == "random:5"'
expect 0 compare spd.mtx --seed 5 --x random --repeat 1 --json seed.json
json seed.json 'j["x"] == "random:5"'
for command in "solve spd.mtx" "solve spd.mtx --rhs random:4" "solve spd.mtx --rhs ones" "spmv spd.mtx" \
    "spmv spd.mtx --x uniform:4" "timestep spd.mtx --count 1" "compare spd.mtx --solvers cg" \
    "compare spd.mtx --x ones"; do
    # shellcheck disable=SC2086
    expect 2 $command --seed 5
    err_has '--seed is for --.* random or uniform without a seed of its own'
done
expect 0 compare spd.mtx --solvers cg --rhs uniform --seed 5
expect 0 timestep spd.mtx --seed 5 --initial random --count 1 --json seed.json
expect 0 convert spd.mtx converted.mtx --json -
json out 'j["nnz"] == 7'
expect 0 compare spd.mtx --repeat 1 --json -
json out 'len(j["results"]) > 0'
expect 0 spmv spd.mtx --json -
json out 'j["nnz"] == 7'
expect 0 generate laplace2d 3 --output converted.mtx --json -
json out 'j["nnz"] == 33'
for full in "info spd.mtx" "solve spd.mtx" "spmv spd.mtx --json -" "generate --list"; do
    label="tessera $full >/dev/full"
    # shellcheck disable=SC2086
    "$tool" $full >/dev/full 2>err
    [ $? -eq 3 ] && grep -q 'standard output' err && pass || fail "$(head -c 100 err)"
done
label='tessera solve spd.mtx --json /dev/full'
"$tool" solve spd.mtx --json /dev/full >out 2>err
[ $? -eq 3 ] && pass || fail "$(head -c 100 err)"
err_has '/dev/full: the file cannot be written'
expect 3 solve spd.mtx --json directory.mtx
err_has 'directory.mtx'

# what info says of files and of matrices that no method fits
printf '%%%%MatrixMarket matrix coordinate pattern skew-symmetric\n3 3 2\n2 1\n3 2\n' >skew_pattern.mtx
printf '%%%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 4\n3 2 -5\n' >skew.mtx
expect "0|3" info skew_pattern.mtx
expect 0 info skew.mtx --json info.json
out_has 'skew-symmetric'
json info.json 'j["file"]["symmetry"] == "skew-symmetric"'
expect 0 info spd.mtx.gz
out_has 'gzip'
expect 0 info b3.mtx
out_has 'array'
expect 0 info nan.mtx
out_has 'NaN|not finite|finite'
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 0\n' >nothing.mtx
expect 0 info nothing.mtx --json info.json
json info.json 'j["nnz"] == 0'
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >no_rows.mtx
expect 0 info no_rows.mtx

# PETSc's options, with their value behind a space or '='
expect 0 solve spd.mtx -ksp_view -ksp_monitor -log_view -options_left -ksp_rtol=1e-8 -ksp_type=bcgs -pc_type jacobi
out_has '^method +bicgstab, preconditioner jacobi'
out_has 'rtol 1e-08'
err_has 'residual'
expect 2 solve spd.mtx -ksp_type foo
err_has "-ksp_type: unknown value 'foo'"
expect 2 solve spd.mtx -ksp_rtol=1e-8x
err_has "-ksp_rtol: '1e-8x' is not a number"
expect 0 solve spd.mtx -ksp_type cg -pc_type gamg --json solve.json
json solve.json 'j["precond"] == "amg"'
expect 2 solve spd.mtx -pc_type=
err_has "-pc_type: unknown value"
err_has ', isai, isai:K, saddle, auto$'
expect 2 solve spd.mtx -ksp_rtol
err_has "'-ksp_rtol' requires an argument"
expect 2 solve spd.mtx -ksp_vew
err_has "did you mean '-ksp_view'"

# A short option that may stand for several
expect 2 solve spd.mtx -o x.mtx
err_has "options that begin so are '--o[a-z]+' and '--o[a-z]+'"
expect 3 solve spd.mtx --initial-guess ones
err_has 'takes the name of a file'

# An empty name is none, whatever it is for; of the outputs two may be standard output.
for command in solve info verify convert spmv timestep compare generate; do
    expect 2 $command ''
    err_has 'an argument is empty; name a file'
done
expect 2 solve -- ''
for option in resume initial-guess coordinates near-nullspace json choices checkpoint output history html rhs; do
    expect 2 solve spd.mtx --precond amg --$option ''
    err_has "--$option: (the file name is empty|the value is empty|'' is not a file name)"
done
expect 2 timestep spd.mtx --resume ''
for option in choices checkpoint history html; do
    expect 2 solve spd.mtx --$option -
    err_has "--$option: '-' is not a file name"
done
expect 0 solve spd.mtx --choices none

# Messages name options as they were written.
expect 2 solve spd.mtx -ksp_type lsqr -ksp_norm_type rows
err_has '-ksp_type lsqr stops by the norm as given; leave out -ksp_norm_type$'
expect 2 solve spd.mtx --solver lsqr --stop-norm rows
err_has '--solver lsqr stops by the norm as given; leave out --stop-norm$'
expect 2 solve spd.mtx --accuracy 1e-3 -ksp_rtol=1e-4
err_has 'leave out -ksp_rtol and --atol$'
expect 2 solve spd.mtx --accuracy 1e-3 -pc_type jacobi -ksp_norm_type preconditioned
err_has '--accuracy goes with -ksp_norm_type given, rows or both, and not with preconditioned$'
expect 2 solve wide.mtx -ksp_norm_type rows
err_has 'leave out -ksp_norm_type$'
expect 2 solve wide.mtx --stop-norm rows
err_has 'leave out --stop-norm$'
