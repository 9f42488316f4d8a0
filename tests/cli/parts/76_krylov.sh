# SPDX-License-Identifier: Apache-2.0
# Krylov methods beside CG, BiCGSTAB and GMRES.

expect 0 solve gallery:indefinite:30 --solver minres --rtol 1e-10 --json solve.json
json solve.json 'j["verified"] and j["solver"] == "minres" and j["iterations"] < 40'
expect 0 solve gallery:laplace2d:30 -ksp_type minres --precond ic0 --matrix-precision fp32 --rtol 1e-10
expect 1 solve gallery:bentpipe2d:10 --solver minres
out_has 'nonsymmetric, -7'
expect 2 solve gallery:laplace2d:10 --solver minres --restart 20
err_has '--restart is for --solver gmres'
expect 2 solve gallery:laplace2d:10 --solver minres --recurrence standard
err_has '--recurrence is for --solver cg or bicgstab'

# Block CG: 4 columns, of which one is twice another and one is 0.
printf '%%%%MatrixMarket matrix array real general\n900 4\n' >block.mtx
awk 'BEGIN { for (j = 1; j <= 4; j++) for (i = 1; i <= 900; i++) {
    v = sin(37 * i * (j == 3 ? 2 : 1)); print j == 4 ? 0 : j == 2 ? 2 * v : v } }' >>block.mtx
for precond in none jacobi ic0; do
    expect 0 solve gallery:laplace2d:30 --rhs block.mtx --solver block-cg --precond $precond --rtol 1e-10 \
        --json solve.json
    json solve.json 'j["verified"] and j["solver"] == "block-cg" and all(c["verified"] for c in j["columns"])'
    expect 0 solve gallery:laplace2d:30 --rhs block.mtx --solver cg --precond $precond --rtol 1e-10 \
        --json cg.json
    most=$(python3 -c 'import json; print(max(c["iterations"] for c in json.load(open("cg.json"))["columns"]))')
    json solve.json "max(c['iterations'] for c in j['columns']) < $most and j['columns'][3]['iterations'] == 0"
done
expect 0 solve gallery:laplace2d:30 --solver block-cg --rtol 1e-10
expect 1 solve gallery:bentpipe2d:10 --solver block-cg --rhs random:1
out_has 'nonsymmetric, -7'
err_has 'the method needs a symmetric matrix'
expect 2 solve gallery:laplace2d:10 --solver block-cg --recurrence standard
err_has '--recurrence is for --solver cg or bicgstab'

problem=gallery:bentpipe2d:20
expect 0 solve $problem --solver fgmres --restart 30 --precond ilu0 --precond-precision fp32/fp64 --rtol 1e-10 \
    --json solve.json
json solve.json 'j["verified"] and j["solver"] == "fgmres" and j["options"]["orthogonalization"] == "cgs2"'
json solve.json 'j["options"]["idr_s"] is None'
expect 2 solve $problem --solver fgmres --orthogonalization cgs2-delayed
err_has '--orthogonalization cgs2-delayed is not for --solver fgmres'
expect 0 solve $problem --solver fgmres --orthogonalization cgs2
expect 0 solve $problem -ksp_type fgmres -pc_type ilu
expect 2 solve $problem --solver fgmres --switch-at 10
err_has '--switch-at is for --solver gmres-fd'
for solver in idr:1 idr idr:8; do
    expect 0 solve $problem --solver $solver --precond ilu0 --rtol 1e-10 --json solve.json
    json solve.json 'j["verified"] and j["solver"] == "idr" and j["iterations"] < 100'
    s=${solver#idr}
    s=${s#:}
    json solve.json 'j["options"]["idr_s"] == '${s:-4}
done
expect 0 solve $problem --solver IDR:4 --precond ilu0 --timings
out_has '^method +idr'
for bad in idr:0 idr:65 idr: idr:x; do
    expect 2 solve $problem --solver $bad
    err_has '--solver idr'
done
expect 2 solve $problem --solver cg:4
err_has "unknown value 'cg:4'"

# Inner iterations on a copy in low precision.
expect 0 solve gallery:laplace2d:20 --solver nested --precond jacobi --device cpu --json nested.json
out_has '^inner iterations  cg in fp16/fp32, at most 50 iterations'
out_has '^iterations .* inner ones \(fp16 '
json nested.json 'j["verified"] and j["solver"] == "nested" and j["nested"]["solver"] == "cg"'
json nested.json 'j["nested"]["iterations"] == j["nested"]["iterations_per_precision"]["fp16"] and not j["escalated"]'
expect 0 solve gallery:recirc2d:20 --solver nested --precond ilu0 --inner-precision fp32 --inner-iterations 7 \
    --inner-reduction 0 --device cpu --json nested.json
json nested.json 'j["nested"]["solver"] == "gmres" and j["nested"]["iterations"] == 7 * j["nested"]["solves"]'
expect 2 solve gallery:laplace2d:20 --solver cg --inner-iterations 5
err_has '--inner-iterations is for --solver nested'
expect 2 solve gallery:laplace2d:20 --solver nested --orthogonalization cgs2-delayed
err_has 'cgs2-delayed is not for --solver nested'
