# SPDX-License-Identifier: Apache-2.0
# Algebraic multigrid: options, levels in the reports of solve and info.

problem=gallery:laplace3d:16
expect 0 solve $problem --solver cg --precond amg --rtol 1e-10 --device cpu --json solve.json
out_has '^levels +[0-9]+ by classical, operator complexity [0-9.]+, grid complexity [0-9.]+'
out_has '1: 4096 rows, 27136 nonzeros, csr fp32'
out_has 'convergence factor 0\.[0-9]+'
json solve.json 'j["converged"] and j["precond"] == "amg" and j["iterations"] <= 20'
json solve.json 'j["amg"]["levels"][0]["rows"] == 4096 and len(j["amg"]["levels"]) >= 2'
json solve.json 'j["amg"]["operator_complexity"] >= 1 and 0 < j["amg"]["convergence_factor"] < 1'
json solve.json 'j["options"]["amg_strength"] is None and j["options"]["amg_cycle"] == "v"'
for precision in fp64 fp32 fp16; do
    expect 0 solve $problem --solver cg --precond amg --amg-precision $precision --device cpu --json solve.json
    json solve.json 'all(l["precision"] == "'$precision'" for l in j["amg"]["levels"])'
done
expect 0 solve $problem --solver fgmres --precond amg --amg-cycle k --amg-smoother l1-jacobi --amg-degree 1 \
    --json solve.json
json solve.json 'j["converged"] and j["options"]["amg_cycle"] == "k" and j["options"]["amg_degree"] == 1'
expect 0 solve gallery:elasticity3d:5 --solver cg --precond amg --amg-smoother l1-jacobi --json norms.json
expect 0 solve gallery:elasticity3d:5 --solver cg --precond amg --amg-smoother block-jacobi --json solve.json
json solve.json 'j["converged"] and not j["escalated"] and j["options"]["amg_smoother"] == "block-jacobi"'
json solve.json "j['iterations'] < __import__('json').load(open('norms.json'))['iterations']"
expect 0 solve $problem --solver cg --precond amg --amg-aggressive 0 --json without.json
expect 0 solve $problem --solver cg --precond amg --amg-aggressive 1 --json solve.json
json solve.json 'j["amg"]["operator_complexity"] < 1.8 and j["options"]["amg_aggressive"] == 1'
json without.json 'j["amg"]["operator_complexity"] > 1.8'
expect 0 solve $problem --solver cg --precond jacobi --json solve.json
json solve.json 'j["amg"] is None'

expect 0 info $problem --precond amg --json info.json
out_has '^levels +[0-9]+ by classical'
json info.json 'len(j["amg"]["levels"]) >= 2 and 0 < j["amg"]["convergence_factor"] < 1'
expect 0 info $problem --json info.json
json info.json 'j["amg"] is None'

expect 2 solve $problem --precond ilu0 --amg-cycle w
err_has '--amg-cycle is for --precond amg'
expect 2 solve $problem --precond amg --amg-cycle x
err_has 'v, w'
expect 2 solve $problem --precond amg --amg-smoother block
err_has 'block-jacobi'
expect 2 solve $problem --precond amg --amg-degree 9
expect 2 solve $problem --precond amg --amg-strength 2
