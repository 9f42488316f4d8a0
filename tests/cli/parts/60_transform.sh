# SPDX-License-Identifier: Apache-2.0
# --scale and --reorder: the system that is solved is another, the one that is reported is not.

# a diagonally dominant matrix with its rows in reverse order: nothing on the diagonal
{
    printf '%%%%MatrixMarket matrix coordinate real general\n40 40 118\n'
    awk 'BEGIN {
        for (i = 1; i <= 40; i++) {
            r = 41 - i; print r, i, 4; if (i > 1) print r, i - 1, -1; if (i < 40) print r, i + 1, -2
        }
    }'
} >reversed.mtx
expect 5 solve reversed.mtx --precond block-jacobi:1 --json solve.json
json solve.json 'j["reason"] == "precond_setup" and j["scale"] == "none" and j["reorder"] == "none"'
for reorder in none rcm; do
    expect 0 solve reversed.mtx --precond jacobi --scale max-product --reorder $reorder --rhs a-times-ones \
        --rtol 1e-10 --output x.mtx --history history.csv --json solve.json
    err_empty
    out_has "^transformation +scale max-product, reorder $reorder"
    json solve.json "j['scale'] == 'max-product' and j['reorder'] == '$reorder' and j['converged'] and
        j['exit_code'] == 0"
    json solve.json "j['options']['scale'] == 'max-product' and j['options']['reorder'] == '$reorder'"
    json solve.json 'j["relative_residual"] <= 1e-10 and j["solver"] == "bicgstab" and j["iterations"] < 40'
    json solve.json "j['iterations'] + 2 == $(wc -l <history.csv)"
    label="x in its own order, reorder $reorder"
    awk 'NR > 2 && ($1 - 1) ^ 2 > 1e-16 { bad = 1 } END { exit bad }' x.mtx && pass || fail "$(cat x.mtx)"
done
expect 0 solve reversed.mtx --scale max-product --initial-guess x.mtx --rhs a-times-ones --json solve.json
json solve.json 'j["iterations"] == 0'
expect 1 solve reversed.mtx --scale max-product --rtol 1e-12 --max-iterations 3 --json solve.json
json solve.json 'j["reason"] == "iterations" and j["iterations"] == 3'

# half of the equations weigh 1e-8: the scaled system is solved first, and the original one has the last word
{
    printf '%%%%MatrixMarket matrix coordinate real general\n40 40 118\n'
    awk 'BEGIN {
        for (i = 1; i <= 40; i++) {
            s = i > 20 ? 1e-8 : 1; print i, i, 4 * s
            if (i > 1) print i, i - 1, -s
            if (i < 40) print i, i + 1, -2 * s
        }
    }'
} >weighted.mtx
expect 1 solve weighted.mtx --scale max-product --guard report --json solve.json
json solve.json 'j["reason"] == "false_convergence" and
    j["estimated_relative_residual"] <= 1e-5 < j["relative_residual"]'
expect 0 solve weighted.mtx --scale max-product --json solve.json
json solve.json 'j["converged"] and j["relative_residual"] <= 1e-5 and j["refinements"] >= 1'

# CG keeps its symmetric matrix under rcm, not under max-product, unless that finds the diagonal in place and equal
expect 0 solve gallery:unstructured2d:500 --reorder rcm --json solve.json
json solve.json 'j["solver"] == "cg" and j["reorder"] == "rcm"'
out_has '^method +cg,'
expect 0 solve spd.mtx --reorder rcm --matrix-precision fp32 --format sell --rtol 1e-9 --json solve.json
json solve.json 'j["format"] == "sell" and j["converged"]'

# with --solver auto the transformed system has its own choice: a matrix that needs complete factors
for change in '--reorder rcm' '--scale symmetric'; do
    # shellcheck disable=SC2086 # two words
    expect 0 solve "$here/../../data/west0067.mtx.gz" $change --rtol 1e-8 --json solve.json
    json solve.json 'j["converged"] and j["solver"] == "fgmres" and j["precond"] == "lu" and
        j["options"]["rtol"] == 1e-8'
    out_has '^method +fgmres, preconditioner lu'
done

# what has no matching
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 1 1\n3 2 1\n3 3 1\n' >singular.mtx
expect 5 solve singular.mtx --scale max-product
err_has 'structurally singular: its structural rank is 2 of 3'
printf '%%%%MatrixMarket matrix array real general\n3 2\n1\n0\n0\n3\n4\n0\n' >two.mtx
expect 5 solve singular.mtx --scale max-product --rhs two.mtx --output x.mtx --json solve.json
json solve.json '[c["reason"] for c in j["columns"]] == 2 * ["precond_setup"] and j["worst_column"] == 1'
json solve.json 'j["row_residual"] is None and j["rhs_norm"] == 1.0 and j["columns"][0]["row_residual"] is None'
expect 3 solve nan.mtx --scale max-product
err_has 'row 1, column 1'

# D A D: CG stays
expect 0 solve spd.mtx --scale symmetric --reorder rcm --precond ic0 --rtol 1e-10 --json solve.json
out_has '^transformation +scale symmetric, reorder rcm'
json solve.json 'j["solver"] == "cg" and j["scale"] == "symmetric" and j["converged"]'
