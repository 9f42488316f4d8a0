# SPDX-License-Identifier: Apache-2.0
# Complete factors. A build without MUMPS refuses them.

problem=gallery:laplace2d:40
if "$TESSERA" solve $problem --precond lu --device cpu 2>&1 | grep -q 'needs MUMPS'; then
    expect 3 solve $problem --precond cholesky
    err_has 'libmumps-seq-dev'
else
    for solver in cg bicgstab gmres gmres-ir gmres-fd; do
        for precond in lu cholesky; do
            expect 0 solve $problem --solver $solver --precond $precond --rtol 1e-12 --json solve.json
            out_has '^factors +[0-9]+ nonzeros'
            json solve.json 'j["converged"] and j["precond"] == "'$precond'" and j["iterations"] <= 8'
            json solve.json 'j["factor_nonzeros"] > 10000 and j["factorization"] == "host"'
            json solve.json 'j["triangle_levels"] is None'
        done
    done
    expect 0 solve $problem --solver cg --precond cholesky --precond-precision fp64 --rtol 1e-12 --json solve.json
    json solve.json 'j["options"]["precond_precision"] == "fp64/fp64" and j["iterations"] <= 3'
    expect 0 solve unsym.mtx -ksp_type gmres -pc_type lu --factor-memory 1G --json solve.json
    json solve.json 'j["precond"] == "lu" and j["options"]["factor_memory"] == 2 ** 30'
    expect 4 solve gallery:laplace2d:150 --precond lu --factor-memory 1M
    err_has 'needs about [0-9.]+ MB, but may take 1.05 MB'
    err_has 'raise --factor-memory'
    expect 5 solve indefinite.mtx --solver gmres --precond cholesky --json solve.json
    json solve.json 'j["reason"] == "precond_setup" and "not positive definite" in j["detail"]'
    expect 2 solve $problem --precond lu --precond-precision fp16
    err_has 'is fp32 or fp64, not fp16'
fi
expect 2 solve $problem --precond ilu0 --factor-memory 1G
err_has 'is for --precond lu or cholesky'
expect 2 solve $problem --precond lu --triangular levels
err_has 'is for --precond ilu0'
