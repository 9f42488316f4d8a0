# SPDX-License-Identifier: Apache-2.0
# Approximate inverses as preconditioners: patterns, storage, reports, refusals.

expect 0 solve gallery:laplace2d:40 --solver cg --precond jacobi --rtol 1e-8 --json jacobi.json
plain=$(python3 -c 'import json; print(json.load(open("jacobi.json"))["iterations"])')
expect 0 solve gallery:laplace2d:40 --solver cg --precond fsai:1 --rtol 1e-8 --json solve.json
out_has '^method +cg, preconditioner fsai:1'
out_has '^inverse +4720 nonzeros, in fp64$'
json solve.json 'j["converged"] and j["precond"] == "fsai:1"'
json solve.json "j['iterations'] < 0.8 * $plain"
expect 0 solve gallery:laplace2d:40 --solver cg --precond fsai --precond-precision fp16/fp64 --inverse-row 20 \
    --inverse-threshold 0.2 --inverse-filter 0.02 --rtol 1e-8 --json solve.json
json solve.json "j['converged'] and j['iterations'] < 0.6 * $plain"
json solve.json 'j["precond"] == "fsai:2" and j["options"]["inverse_row"] == 20'
json solve.json 'j["options"]["inverse_threshold"] == 0.2 and j["options"]["inverse_filter"] == 0.02'
expect 0 solve gallery:laplace2d:40 --solver cg --precond fsai:adaptive --inverse-steps 4 --inverse-step-size 2 \
    --inverse-tolerance 0.01 --inverse-row 8 --rtol 1e-8 --json solve.json
out_has '^method +cg, preconditioner fsai:adaptive'
json solve.json "j['converged'] and j['iterations'] < 0.8 * $plain"
json solve.json 'j["precond"] == "fsai:adaptive" and j["options"]["inverse_steps"] == 4'
json solve.json 'j["options"]["inverse_step_size"] == 2 and j["options"]["inverse_tolerance"] == 0.01'
expect 2 solve spd.mtx --solver cg --precond fsai:adaptive --inverse-threshold 0.2
err_has 'inverse-threshold is for --precond fsai:K or isai:K'
expect 2 solve spd.mtx --solver cg --precond fsai:2 --inverse-steps 3
err_has 'inverse-steps is for --precond fsai:adaptive'
expect 2 solve spd.mtx --precond isai:adaptive
expect 0 solve gallery:laplace2d:40 --solver cg --precond amg --amg-smoother fsai --rtol 1e-8
out_has 'smoothed by fsai'
for solver in bicgstab gmres gmres-ir fgmres idr; do
    expect 0 solve gallery:uniflow2d:20:1:0.1 --solver $solver --precond isai --rtol 1e-8
done
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 2 -3\n3 3 4\n3 1 1\n' >indefinite.mtx
expect 5 solve indefinite.mtx --solver cg --precond fsai
out_has 'fsai: the diagonal entry of row 2 is -3'
for value in 0 9 x; do
    expect 2 solve spd.mtx --precond isai:$value
    err_has 'is not a power of the pattern'
done
expect 2 solve spd.mtx --solver cg --precond jacobi --inverse-row 3
err_has 'inverse-row is for --precond fsai or isai'
expect 2 solve spd.mtx --solver cg --precond fsai --precond-precision fp32/fp32
expect 2 solve spd.mtx --solver cg --precond fsai --inverse-filter 1
