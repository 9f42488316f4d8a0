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
