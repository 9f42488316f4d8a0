# SPDX-License-Identifier: Apache-2.0
# Complex systems: sizes and rows as the user counts them, right-hand sides, answers as complex files.
expect 0 generate helmholtz2d 12 --output h.mtx
out_has '^h\.mtx: 144 x 144, 672 nonzeros, complex, written'
[ "$(head -n 1 h.mtx)" = '%%MatrixMarket matrix coordinate complex general' ] && pass || fail "h.mtx is not complex"
expect 0 generate helmholtz2d 12 --output h.mtx --json generate.json
json generate.json 'j["nrows"] == j["ncols"] == 144 and j["nnz"] == 672'
expect 0 info h.mtx --json info.json
json info.json 'j["complex"] and j["nrows"] == 288 and j["nnz"] == 4 * 672'
expect 0 info h.mtx
out_has '^complex +144 x 144, 672 nonzeros, complex; below is its real form'
expect 0 solve h.mtx --device cpu --rtol 1e-10 --output x.mtx --json solve.json
out_has '^matrix +h\.mtx: n = 144, 672 nonzeros, complex$'
out_has '^right-hand side +ones, \|\|b\|\| = 12;'
out_has '^why +the matrix is not Hermitian'
json solve.json 'j["complex"] and j["n"] == j["ncols"] == 144 and j["verified"]'
json solve.json 'j["row_residual"]["backward_row"] <= 144'
[ "$(sed -n 1p x.mtx)" = '%%MatrixMarket matrix array complex general' ] && pass || fail "x.mtx is not complex"
expect 0 verify h.mtx ones x.mtx --rtol 1e-10 --json verify.json
json verify.json 'j["met"] and j["nrows"] == 144 and all(row["row"] <= 144 for row in j["rows"])'
expect 1 verify h.mtx ones ones --rtol 1e-10
for solver in gmres fgmres bicgstab gmres-ir; do
    expect 0 solve h.mtx --device cpu --solver $solver --precond ilu0 --rtol 1e-8 --rhs a-times-ramp
done
expect 0 solve h.mtx --device cpu --precond lu --solver gmres --rhs random:3 --html page.html
grep -q '144 equations and 672 nonzeros, complex' page.html && pass || fail "the page counts others"
# x of several formats, read again
for kind in npy mat petsc; do
    expect 0 solve h.mtx --device cpu --rtol 1e-10 --output x.$kind
    expect 0 verify h.mtx ones x.$kind --rtol 1e-10
    [ $kind = mat ] || expect 0 convert x.$kind y.mtx # a table in .mat is a matrix
    [ $kind = mat ] || cmp -s x.mtx y.mtx && pass || fail "x.$kind is another"
done
expect 0 convert x.npy z.npy --json convert.json
out_has '144 x 1, a dense array, complex; read in'
json convert.json 'j["nrows"] == 144 and j["ncols"] == 1'
# real right-hand sides, several columns, a guess
python3 -c "print('%%MatrixMarket matrix array real general\n144 2'); print(*range(288), sep='\n')" >b.mtx
expect 0 solve h.mtx --device cpu --rhs b.mtx --rtol 1e-9 --output columns.mtx
[ "$(sed -n 2p columns.mtx)" = '144 2' ] && pass || fail "columns.mtx has other sizes"
expect 0 verify h.mtx b.mtx columns.mtx --rtol 1e-9
expect 0 solve h.mtx --device cpu --initial-guess x.mtx --rtol 1e-9
out_has '^iterations +0$'
python3 -c "print('%%MatrixMarket matrix array real general\n143 1'); print(*range(143), sep='\n')" >short.mtx
expect 3 solve h.mtx --rhs short.mtx
err_has 'short\.mtx: the file for --rhs has 143 values, but the matrix needs 144'
expect 3 verify h.mtx short.mtx x.mtx
err_has 'short\.mtx: b has 143 rows and 1 column, but the matrix is 144 x 144, and b needs 144 rows'
expect 0 generate laplace2d 12 --output real.mtx
expect 3 solve real.mtx --rhs x.mtx
err_has 'x\.mtx: its numbers are complex, and the matrix is real; solve for the real and the imaginary part'
expect 3 verify real.mtx x.mtx ones
expect 0 spmv h.mtx --device cpu --repeat 1 --x x.mtx --output y.mtx --format auto
out_has '^matrix +h\.mtx: 144 x 144, 672 nonzeros, complex$'
out_has '^storage +bsr'
[ "$(sed -n 2p y.mtx)" = '144 1' ] && pass || fail "y.mtx has another size"
expect 0 compare h.mtx --device cpu --repeat 1 --format bsr --json compare.json
out_has '144 x 144, 672 nonzeros, complex'
json compare.json 'j["nrows"] == 144 and j["nnz"] == 672'
# a Hermitian matrix is solved by CG
cat >hermitian.mtx <<'END'
%%MatrixMarket matrix coordinate complex hermitian
2 2 3
1 1 2 0
2 1 0 -1
2 2 3 0
END
expect 0 solve hermitian.mtx --device cpu --rtol 1e-12
out_has '^why +the matrix is Hermitian, positive and dominated by its diagonal'
out_has '^method +cg,'
expect 1 solve h.mtx --device cpu --solver cg
expect 0 convert hermitian.mtx hermitian.npz
expect 0 convert hermitian.npz again.mtx
expect 0 solve again.mtx --device cpu --solver cg --rtol 1e-12
