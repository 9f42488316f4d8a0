# SPDX-License-Identifier: Apache-2.0
# The preconditioner saddle: methods, Schur complements, rows and matrices from files, refusals.

problem=gallery:stokes2d:12 # 264 velocities, 143 pressures
awk 'BEGIN { print "%%MatrixMarket matrix array real general"; print "143 1"; for (i = 407; i > 264; i--) print i }' \
    > rows.mtx
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print "143 143 143"
    for (i = 1; i <= 143; i++) print i, i, 1 }' > mass.mtx

for solver in gmres fgmres gmres-ir minres; do
    expect 0 solve $problem --solver $solver --precond saddle --rtol 1e-8 --device cpu --json solve.json
    json solve.json 'j["converged"] and j["precond"] == "saddle" and j["iterations"] < 90'
done
expect 0 solve $problem --solver fgmres --precond saddle --device cpu --json found.json
expect 0 solve $problem --solver fgmres --precond saddle --saddle-index rows.mtx --device cpu --json given.json
found=$(python3 -c 'import json; print(json.load(open("found.json"))["iterations"])')
json given.json "j['iterations'] == $found and j['options']['saddle_index'] == 'rows.mtx'"
json found.json 'j["options"]["saddle_index"] is None and j["options"]["schur_matrix"] is None'
json found.json 'j["saddle"]["unknowns"] == 264 and j["saddle"]["zero_diagonals"] == 143 == j["saddle"]["constraints"]'
json found.json 'not j["saddle"]["index_given"] and j["saddle"]["factorization"] == "upper"'
json found.json 'j["saddle"]["a"]["precond"] == "amg" and j["saddle"]["a"]["amg"]["levels"][0]["rows"] == 264'
json found.json 'j["saddle"]["schur"] == "local" and j["saddle"]["s"] == {"precond": "jacobi", "amg": None}'
json given.json 'j["saddle"]["index_given"] and j["saddle"]["zero_diagonals"] == 0'
expect 0 info $problem --precond saddle
out_has '264 unknowns and 143 constraints, found by zero diagonals .143.'
expect 0 solve $problem --solver fgmres --precond saddle --saddle-index rows.mtx --device cpu
out_has '143 constraints, by the index'
out_has 'Schur complement local, solved by jacobi'
expect 0 solve gallery:laplace2d:8 --device cpu --json solve.json
json solve.json 'j["saddle"] is None'
expect 2 solve $problem --precond saddle --saddle-a-precond ilut
err_has 'Available: jacobi, ilu0, ic0, lu, cholesky, amg, auto'
for schur in local selfp lsc; do
    for factors in diag lower upper full; do
        expect 0 solve $problem --solver fgmres --precond saddle --schur-precondition $schur \
            --schur-fact-type $factors --device cpu --json solve.json
        json solve.json "j['options']['schur_precondition'] == '$schur'"
        json solve.json "j['options']['schur_fact_type'] == '$factors'"
    done
done
expect 0 solve $problem --solver fgmres --precond saddle --schur-precondition user \
    --schur-matrix mass.mtx --device cpu --json solve.json
json solve.json 'j["converged"] and j["iterations"] < 60 and j["options"]["schur_matrix"] == "mass.mtx"'
expect 0 solve $problem --solver auto --precond saddle --device cpu --json solve.json
json solve.json 'j["precond"] == "saddle"'
expect 0 solve $problem -ksp_type minres -pc_type saddle --device cpu

expect 2 solve $problem --precond ilu0 --saddle-index rows.mtx
err_has '--saddle-index is for --precond saddle'
expect 2 solve $problem --precond ilu0 --schur-fact-type full
err_has '--schur-fact-type is for --precond saddle'
expect 2 solve $problem --precond saddle --schur-matrix mass.mtx
err_has 'go together'
expect 2 solve $problem --precond saddle --schur-precondition user
err_has 'go together'
expect 2 solve $problem --precond saddle --system transformed --scale symmetric --saddle-index rows.mtx
err_has 'does not go with --saddle-index'
expect 2 solve $problem --precond saddle --schur-precondition exact
expect 3 solve $problem --precond saddle --saddle-index missing.mtx
expect 3 solve $problem --precond saddle --saddle-index mass.mtx
expect 3 solve $problem --precond saddle --schur-precondition user --schur-matrix missing.mtx
awk '/^143 1/ { print; getline; print 0.5; next } { print }' rows.mtx > half.mtx
expect 3 solve $problem --precond saddle --saddle-index half.mtx
err_has 'half.mtx: entry 1 is 0.5, but rows count from 1'
awk '/^143 1/ { print; getline; print 500; next } { print }' rows.mtx > far.mtx
expect 2 solve $problem --solver fgmres --precond saddle --saddle-index far.mtx --device cpu
err_has 'entry 1 of the index is row 500, but the matrix has 407 rows'
expect 2 solve gallery:laplace2d:8 --solver fgmres --precond saddle --device cpu
err_has 'the matrix has no zero block'
err_has 'saddle-index'
expect 5 solve gallery:emptyrows:9 --solver fgmres --precond saddle --device cpu --json solve.json
json solve.json '"row 2 is a constraint without entries" in j["detail"]'
