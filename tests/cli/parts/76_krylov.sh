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
