# SPDX-License-Identifier: Apache-2.0
# Least squares: rectangular matrices, reasons, reports, what is refused.
printf '%%%%MatrixMarket matrix coordinate real general\n4 2 6\n1 1 1\n2 1 1\n2 2 1\n3 1 1\n3 2 2\n4 2 3\n' >tall.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 1\n1 2 1\n2 2 2\n2 3 1\n' >wide.mtx
printf '%%%%MatrixMarket matrix array real general\n4 1\n1\n0\n0\n2\n' >tall_b.mtx
for solver in lsqr lsmr; do
    for precond in none jacobi; do
        # inconsistent: A^T A = [[3, 3], [3, 14]], A^T b = (1, 6): x = (-4, 15) / 33
        expect 0 solve tall.mtx --solver $solver --precond $precond --rhs tall_b.mtx --rtol 1e-12 --device cpu \
            --json least.json --output x.mtx --history least.csv
        json least.json 'j["reason"] == "least_squares" and j["reason_code"] == 1 and j["converged"] and j["verified"]'
        json least.json 'j["n"] == 4 and j["ncols"] == 2 and j["relative_residual"] > 0.5 and j["exit_code"] == 0'
        json least.json 'j["normal_residual_norm"] + j["normal_residual_bound"]
            <= 1e-12 * j["matrix_norm"] * j["residual_norm"]'
        json least.json 'abs(j["matrix_norm"] ** 2 - 17) < 1e-13 and j["findings"] is None'
        label="x of $solver"
        tail -n 2 x.mtx | paste -s -d ' ' | awk '{ exit !(($1 + 4 / 33) ^ 2 + ($2 - 15 / 33) ^ 2 < 1e-22) }' &&
            pass || fail "$(tail -n 2 x.mtx)"
    done
    out_has '^matrix +tall.mtx: 4 x 2, 6 nonzeros'
    out_has '^normal equations +[0-9.e-]+, TRUE'
    # consistent, tall and wide: rtol decides
    for matrix in tall.mtx wide.mtx; do
        expect 0 solve $matrix --solver $solver --rhs a-times-ones --rtol 1e-10 --device cpu --json least.json
        json least.json 'j["reason"] == "rtol" and j["relative_residual"] <= 1e-10'
    done
    expect 0 solve tall.mtx --solver $solver --rhs tall_b.mtx --initial-guess x.mtx --rtol 1e-11 --json least.json
    json least.json 'j["iterations"] == 0 and j["reason"] == "least_squares"'
    expect 0 solve tall.mtx --solver $solver --rhs tall_b.mtx --matrix-precision fp16 --rtol 1e-9 --json least.json
    json least.json 'j["reason"] == "least_squares" and j["nonzeros_per_precision"]["fp16"] == 6'
    expect 2 solve tall.mtx --solver $solver --precond block-jacobi:2
    err_has 'no preconditioner but jacobi'
    expect 2 solve tall.mtx --solver $solver --scale max-product
    expect 2 solve tall.mtx --solver $solver --recurrence one-reduction
done
expect 0 solve tall.mtx -ksp_type lsqr -pc_type none --rhs tall_b.mtx --json least.json
json least.json 'j["solver"] == "lsqr"'
expect 0 solve tall.mtx --rhs tall_b.mtx --json least.json
json least.json 'j["solver"] == "lsmr" and j["precond"] == "jacobi" and j["reason"] == "least_squares"'
expect 3 solve tall.mtx --solver gmres
err_has '4 x 2.*lsqr or lsmr'
expect 1 solve $TESS_DATA_DIR/plskz362.mtx.gz --solver lsqr --max-iterations 3 --json least.json --device cpu
json least.json 'j["reason"] == "iterations" and j["findings"]["next"].startswith("tessera solve")'
