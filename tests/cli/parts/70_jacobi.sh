# SPDX-License-Identifier: Apache-2.0
# Jacobi's schedules from the command line: lists, fixed runs, the paper's preset, refusals.
expect 0 solve gallery:laplace2d:12 --solver jacobi --rtol 1e-8 --json solve.json
json solve.json 'j["solver"] == "jacobi" and j["converged"] and j["format"] == "csr" and j["policy"] == "none"'
json solve.json '[s["what"] for s in j["steps"]] == ["fp64"] and j["steps"][0]["iterations"] == j["iterations"]'
json solve.json 'j["options"]["steps"] is None and j["options"]["omega"] == 1'
expect 0 solve gallery:laplace2d:12 --solver jacobi --steps fp32,mixed,fp64 --rtol 1e-11 --json solve.json \
    --history h.csv
out_has '^method +jacobi, .* composite fp64,fp32'
out_has '^iterations +[0-9]+ .fp32:[0-9]+,mixed:[0-9]+,fp64:[0-9]+.$'
json solve.json 'j["format"] == "composite" and j["policy"] == "mean-range" and j["options"]["policy_parameter"] == 0.1'
json solve.json 'j["options"]["steps"] == "fp32,mixed,fp64" and
    sum(s["iterations"] for s in j["steps"]) == j["iterations"]'
grep -q nan h.csv && fail "the history has rows that were not measured" || pass
[ "$(head -n 2 h.csv | tail -n 1 | cut -d, -f1)" = 0 ] && pass || fail "the history does not begin at 0"
[ "$(wc -l <h.csv)" -gt 5 ] && pass || fail "the history is short"
expect 0 solve gallery:laplace2d:12 --solver jacobi --format split --granularity entry --policy fixed-range:10 \
    --rtol 1e-9 --json solve.json
json solve.json 'j["converged"] and j["format"] == "split" and j["nonzeros_per_precision"]["fp32"] == 528'
expect 0 solve gallery:laplace2d:12 --solver jacobi --omega 0.8 --json solve.json
json solve.json 'j["options"]["omega"] == 0.8'
expect 0 solve gallery:laplace2d:12 --solver jacobi --scale max-product --reorder rcm --format composite --rtol 1e-9

# a band: in each row one large value beside the diagonal, two small ones; the whole times 1e6
python3 - <<'END' >band.mtx
n, rows = 100, []
for i in range(n):
    last = -0.4 if i % 3 == 0 else 0.003
    for j, v in ((i - 2, 0.003 + i * 1e-5), (i - 1, -0.4), (i, 2.0), (i + 1, 0.004), (i + 2, last)):
        if 0 <= j < n:
            rows.append(f"{i + 1} {j + 1} {1e6 * v / 3:.17g}")
print(f"%%MatrixMarket matrix coordinate real general\n{n} {n} {len(rows)}")
print("\n".join(rows))
END
# fixed runs end at their limit, converged or not
expect 1 solve gallery:laplace2d:12 --solver jacobi --steps fp32:10,fp64:20 --json solve.json
json solve.json 'j["reason"] == "iterations" and [s["iterations"] for s in j["steps"]] == [10, 20]'
expect 1 solve gallery:laplace2d:12 --preset tezcan-jacobi --json paper.json
json paper.json '[s["iterations"] for s in j["steps"]] == [666, 666, 668] and j["iterations"] == 2000'
json paper.json 'j["options"]["rhs"] == "a-times-ramp" and j["options"]["guard"] == "report" and
    j["options"]["scale"] == "max-product"'
json paper.json 'j["relative_residual"] < 1e-15 and not j["escalated"] and j["refinements"] == 0'
# the preset with rows of which one value may be large: the system is the scaled one, b too
expect 1 solve band.mtx --preset tezcan-jacobi --steps mixed --json paper.json
out_has '^transformation +scale max-product, reorder none; b, x and residuals are of the transformed system$'
json paper.json 'j["options"]["share"] == "at-most-one" and j["options"]["system"] == "transformed"'
json paper.json 'j["nonzeros_per_precision"]["fp32"] > 100 and 1e-12 < j["relative_residual"] < 1e-7 and
    j["rhs_norm"] < 1e3'
expect 1 solve band.mtx --preset tezcan-jacobi --steps mixed --share 99 --json paper.json
json paper.json 'j["nonzeros_per_precision"]["fp32"] == 0 and j["relative_residual"] < 1e-15'
expect 1 solve band.mtx --preset tezcan-jacobi --system original --json paper.json
json paper.json 'j["options"]["system"] == "original" and j["rhs_norm"] > 1e5'
expect 0 solve gallery:laplace2d:12 --reorder rcm --system transformed --solver cg --rtol 1e-10 --output rcm.x
expect 2 solve gallery:laplace2d:12 --system transformed
err_has 'system transformed needs --scale or --reorder'
expect 2 solve gallery:laplace2d:12 --scale symmetric --system other
expect 1 solve gallery:laplace2d:12 --preset tezcan-jacobi --steps fp32 --json paper.json
json paper.json '1e-10 < j["relative_residual"] < 1e-6 and j["options"]["preset"] == "tezcan-jacobi"'

# A x with x_i = i / n
expect 0 solve two.mtx --solver jacobi --rhs a-times-ramp --output two.x
[ "$(tail -n 2 two.x | tr '\n' ' ')" = "0.5 1 " ] && pass || fail "x is not the ramp: $(tail -n 2 two.x)"

expect 5 solve no_diagonal.mtx --solver jacobi --json solve.json
json solve.json 'j["reason"] == "precond_setup" and "row " in j["detail"] and "--scale max-product" in j["detail"]'
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 3\n2 1 3\n2 2 1\n' >diverging.mtx
expect 1 solve diverging.mtx --solver jacobi --format composite --json solve.json
json solve.json 'j["reason"] == "divergence" and j["relative_residual"] <= 1'

for list in "" fp65 fp32: fp32:0 mixed,,fp64 fp64,fp64,fp64,fp64,fp64,fp64,fp64; do
    expect 2 solve spd.mtx --solver jacobi --steps="$list"
    err_has 'is not a list'
done
expect 2 solve spd.mtx --solver cg --steps fp64
err_has 'steps is for --solver jacobi'
expect 2 solve spd.mtx --omega 0.5
expect 2 solve spd.mtx --solver jacobi --omega 0
expect 2 solve spd.mtx --solver jacobi --precond jacobi
expect 2 solve spd.mtx --solver jacobi --format split --steps mixed,fp64
expect 2 solve spd.mtx --solver jacobi --format sell
for line in "solve spd.mtx --solver jacobi" "timestep spd.mtx --count 1"; do
    # shellcheck disable=SC2086
    expect 2 $line --format pbp
    err_has 'parts by blocks hold the diagonal too, .* choose --format split or composite, by rows or entries'
done
