# SPDX-License-Identifier: Apache-2.0
# Jacobi sweeps as a preconditioner: steps, weights, storage, reports, refusals.

expect 0 solve gallery:laplace2d:40 --solver cg --precond jacobi --rtol 1e-8 --json jacobi.json
expect 0 solve gallery:laplace2d:40 --solver cg --precond jacobi-sweeps:4 --rtol 1e-8 --json solve.json
out_has '^method +cg, preconditioner jacobi-sweeps:4'
out_has '^sweeps +4 .fp32:1,mixed:1,fp64:2., weight 1; nonzeros 6240 in fp64$'
out_has '^NOTE +policy mean-range leaves nothing low: all 6240 nonzeros are in fp64$'
json solve.json 'j["converged"] and j["precond"] == "jacobi-sweeps:4" and j["sweeps"]["count"] == 4'
json solve.json '[s["sweeps"] for s in j["sweeps"]["steps"]] == [1, 1, 2] and j["options"]["precond_steps"] is None'
plain=$(python3 -c 'import json; print(json.load(open("jacobi.json"))["iterations"])')
json solve.json "j['iterations'] < 0.6 * $plain"
expect 0 solve "$TESS_DATA_DIR/1138_bus.mtx.gz" --solver cg --precond jacobi-sweeps:3 --precond-policy fixed-range:10 \
    --precond-share at-most-one --precond-steps fp32,mixed --precond-omega 0.9 --rtol 1e-8 --json solve.json
out_has '^sweeps +3 .fp32:1,mixed:2., weight 0.9; nonzeros [0-9]+ in fp64, [0-9]+ in fp32$'
! grep -q '^NOTE' out && pass || fail 'a NOTE without need'
json solve.json 'min(j["sweeps"]["nonzeros_per_precision"][p] for p in ("fp64", "fp32")) > 100'
json solve.json 'j["sweeps"]["weight"] == 0.9'
json solve.json 'j["options"]["precond_share"] == "at-most-one" and j["options"]["precond_steps"] == "fp32,mixed"'
json solve.json 'j["options"]["precond_omega"] == 0.9'
for format in split csr ellr; do
    expect 0 solve gallery:laplace2d:20 --solver gmres --precond jacobi-sweeps --precond-format $format \
        --json solve.json
    json solve.json 'j["converged"] and j["sweeps"]["count"] == 3'
    [ $format = split ] || json solve.json '[s["what"] for s in j["sweeps"]["steps"]] == ["fp64"]'
    [ $format = split ] || ! grep -q '^NOTE' out && pass || fail 'a NOTE about a format without a policy'
done
for solver in bicgstab gmres-ir fgmres idr minres; do
    expect 0 solve gallery:laplace2d:20 --solver $solver --precond jacobi-sweeps:2 --rtol 1e-8
done
expect 5 solve no_diagonal.mtx --solver bicgstab --precond jacobi-sweeps --json solve.json
json solve.json 'j["reason"] == "precond_setup" and "row " in j["detail"]'
for value in 0 1001 x; do
    expect 2 solve spd.mtx --precond jacobi-sweeps:$value
    err_has 'is not a number of sweeps'
done
expect 2 solve spd.mtx --precond jacobi --precond-steps fp32
err_has 'precond-steps is for --precond jacobi-sweeps'
expect 2 solve spd.mtx --precond jacobi --precond-omega 0.5
expect 2 solve spd.mtx --precond jacobi --precond-share 90
expect 2 solve spd.mtx --precond jacobi-sweeps --precond-steps fp65
expect 2 solve spd.mtx --solver cg --precond jacobi-sweeps --precond-precision fp32
expect 2 solve spd.mtx --solver cg --precond jacobi-sweeps --precond-format tiles
