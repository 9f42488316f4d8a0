# SPDX-License-Identifier: Apache-2.0
# info, spmv, compare, generate, convert.
expect 0 info spd.mtx --json info.json
out_has '^recommendation +the matrix is symmetric, positive and dominated by its diagonal'
out_has '^ +first --solver cg --precond jacobi: '
json info.json 'j["nrows"] == 3 and j["nnz"] == 7 and j["numerically_symmetric"] is True and j["diagonal_positive"] == 3'
json info.json 'j["recommendation"]["solver"] == "cg" and j["exact_share"]["e4m3"] == 1.0'
json info.json 'j["memory"][0]["bytes"] == 4 * 4 + 7 * 12 and j["memory"][1]["bytes"] == 4 * 4 + 7 * 8'
json info.json 'j["file"]["symmetry"] == "symmetric" and j["file"]["entries"] == 5'
expect 0 info unsym.mtx --json info.json
json info.json 'j["pattern_symmetric"] is True and j["numerically_symmetric"] is False and j["recommendation"]["solver"] == "bicgstab"'
expect 0 info wide.mtx --json info.json
json info.json 'j["pattern_symmetric"] is None and j["recommendation"]["solver"] == "lsmr"'
expect 0 info wide.mtx --solve --json info.json
json info.json 'j["solve_memory"]["solver"] == "lsmr" and j["solve_memory"]["precond"] == "jacobi"'
expect 0 info unsym.mtx --solve --json info.json
json info.json 'j["solve_memory"]["solver"] == "bicgstab" and j["solve_memory"]["precond"] == "jacobi"'
expect 0 info indefinite.mtx --solve --json info.json
json info.json 'j["solve_memory"]["solver"] == "minres" == j["recommendation"]["solver"]'
json info.json 'j["solve_memory"]["precond"] == "none" == j["recommendation"]["precond"]'
# what is recommended solves
for matrix in spd unsym indefinite no_diagonal wide; do
    [ "$matrix" = no_diagonal ] && ! "$tool" solve no_diagonal.mtx --precond lu >out 2>err && continue # without MUMPS
    expect 0 info $matrix.mtx
    expect 0 solve $matrix.mtx $(sed -n 's/^ *first \(--solver .*\): .*/\1/p' out)
done
# and is what solve tries, attempt by attempt; large grids name multigrid
for matrix in "$TESS_DATA_DIR"/{1138_bus,nos3,west0067,sherman4}.mtx.gz gallery:laplace2d:160 gallery:bentpipe2d:40; do
    expect 0 info "$matrix" --json info.json
    expect 0 solve "$matrix" --device cpu --json solve.json
    json info.json '(lambda made, told: 0 < len(made) <= len(told) and all(
        a[k] == t[k] for a, t in zip(made, told) for k in ("solver", "precond", "scale", "reorder")))(
        __import__("json").load(open("solve.json"))["attempts"], j["recommendation"]["attempts"])'
done
# with the file of choices that solve writes too
expect 0 solve gallery:bentpipe2d:40 --device cpu --choices remembered.txt --rtol 1e-10 --json solve.json
label="a solve of several attempts is remembered"
[ -s remembered.txt ] && pass || fail "the file is empty"
expect 0 info gallery:bentpipe2d:40 --choices remembered.txt --json info.json
out_has '^recommendation .*; the method is from the file of choices'
json info.json '(lambda last, first: (last["solver"], last["precond"]) == (first["solver"], first["precond"]))(
    __import__("json").load(open("solve.json"))["attempts"][-1], j["recommendation"]["attempts"][0])'
expect 2 info spd.mtx --choices spd.mtx
err_has 'choices'
expect 0 info gallery:bentpipe2d:40 --choices none
! grep -q 'file of choices' out && pass || fail "it reads a file of choices"
expect 0 info gallery:laplace2d:300
out_has '^ +then +--solver cg --precond amg: multigrid'
expect 0 info nan.mtx --json info.json
out_has '^recommendation +none: NaN or Inf'
json info.json 'j["recommendation"]["solver"] is None and j["recommendation"]["attempts"] == []'
expect 0 info duplicates.mtx --json info.json
json info.json 'j["file"]["duplicates"] == 1 and j["explicit_zeros"] == 1 and j["nnz"] == 3'
expect 0 info spd.mtx.gz --json -
json out 'j["file"]["gzip"] is True and j["file"]["cache"] is False'
expect 0 convert spd.mtx spd-info.tess
expect 0 info spd-info.tess --json info.json
out_has '^file +binary cache'
json info.json 'j["file"]["cache"] is True'
expect 0 info gallery:laplace2d:10
out_has '100 x 100'
cp spd.mtx "$(printf 'na\303\251me\377.mtx')"
expect 0 info "$(printf 'na\303\251me\377.mtx')" --json info.json
json info.json 'j["nrows"] == 3'

# the sum needs FP64 arithmetic: in FP32 it would be 1
for precision in fp64 fp32 bf16 fp16; do # the others have no 2^-24
    expect 0 spmv half_eps.mtx --matrix-precision $precision --output y.mtx --json spmv.json
    label="1 + 2^-24 in $precision"
    awk 'NR == 3 && $1 > 1.00000005 { good = 1 } END { exit !good }' y.mtx && pass || fail "$(cat y.mtx)"
    json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"]'
done
expect 0 spmv gallery:hilbert:20 --matrix-precision fp32 --x random:5 --json spmv.json --repeat 3
json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and 0 < j["fp64_componentwise_error"] < 2.0 ** -23'
json spmv.json 'j["x"] == "random:5" and j["repeat"] == 3 and j["bytes_moved"] == j["matrix_bytes"] + 8 * 40'
expect 0 spmv spd.mtx --x b3.mtx --output y.mtx
label='A [1 2 3]'
[ "$(tail -n 3 y.mtx | tr '\n' ' ')" = '2 4 10 ' ] && pass || fail "$(cat y.mtx)"
expect 2 spmv spd.mtx --x a-times-ones --repeat 0
expect 3 spmv spd.mtx --x a-times-ones
expect 0 spmv wide.mtx
expect "0|3" spmv nan.mtx --json spmv.json

expect 0 compare gallery:laplace2d:12 --device cpu --repeat 3 --json compare.json
out_has '^cpu +csr +fp32'
json compare.json 'len(j["results"]) == 5 * sum(r["format"] == "ellr" for r in j["results"]) >= 30'
json compare.json 'j["gpu_name"] is None and j["results"][0]["fp64_relative_error"] < 1e-14'
expect 0 compare wide.mtx --repeat 2

expect 0 generate --list
out_has '^laplace2d '
expect 0 generate --list --json -
json out 'len(j["problems"]) > 2'
expect 2 generate laplace2d 5
err_has 'output'
expect 2 generate laplce2d 5 --output a.mtx
err_has "no model problem is called 'laplce2d'"
err_has '^  the nearest name is laplace2d$'
absent a.mtx
expect 2 solve gallery:hilbertt:5
err_has '^  the nearest name is hilbert$'
expect 2 generate wxyz 5 --output a.mtx # resembles no name
err_has "^  'tessera generate --list' names them$"
expect 2 generate laplace2d 5 --output a.txt
expect 2 generate --output a.mtx
expect 0 generate laplace2d 5 --output a.mtx --json generate.json
json generate.json 'j["nrows"] == 25 and j["nnz"] == 105'
expect 0 generate laplace2d 5 --output a.mtx.gz
expect 0 generate laplace2d 5 --output lower.mtx --symmetric
expect 0 info lower.mtx --json info.json
json info.json 'j["file"]["symmetry"] == "symmetric" and j["nnz"] == 105'
expect 0 generate laplace2d 5 --output a.tess
expect 0 generate ventricle 1000 rcm 7 --output v.mtx --points points.mtx --initial potential.mtx
label='points and potential beside the matrix'
n=$(sed -n '2s/ .*//p' v.mtx)
[ "$(sed -n 2p points.mtx) $(sed -n 2p potential.mtx)" = "$n 3 $n 1" ] && pass || fail "$(sed -n 2p points.mtx potential.mtx)"
expect 0 spmv v.mtx --x potential.mtx
expect 2 generate laplace2d 5 --output p.mtx --points points.mtx
err_has '--points is for the problem ventricle'
expect 2 generate ventricle 1000 --output p.mtx --initial -
expect 3 generate ventricle 1000 --output p.mtx --initial none/u.mtx
absent p.mtx

expect 2 convert a.mtx
expect 2 convert a.mtx b.mtx c.mtx
expect 2 convert a.mtx b.xls
err_has 'must end in'
expect 0 convert a.mtx b.tess
expect 0 convert b.tess b.mtx
label='a.mtx to .tess and back'
cmp -s a.mtx b.mtx && pass || fail 'the files differ'
expect 0 convert a.mtx.gz c.mtx
cmp -s a.mtx c.mtx && pass || fail 'the files differ'
expect 3 convert unsym.mtx u.mtx --symmetric
absent u.mtx
cp b.tess damaged.tess
printf '\377' | dd of=damaged.tess bs=1 seek=$(($(wc -c <b.tess) - 9)) conv=notrunc 2>/dev/null
expect 3 info damaged.tess
err_has 'damaged.tess'
head -c 40 b.tess >cut.tess
expect 3 info cut.tess
expect 0 solve b.tess
expect 0 convert a.mtx a.mtx --force
cmp -s a.mtx b.mtx && pass || fail 'a file converted onto itself changed'
