# SPDX-License-Identifier: Apache-2.0
# Partial convergence from the command line: what reports say, what goes with what.
resident="--format tiles --layout resident --policy lossless"
for solver in cg bicgstab; do
    for mode in paper safe; do
        # shellcheck disable=SC2086
        expect 0 solve gallery:laplace2d:20:21 --solver $solver $resident --narrowing $mode --rtol 1e-8 \
            --json narrow.json
        out_has "^narrowing +$mode: of [0-9]+ products of tiles [0-9.e+-]+ % were skipped"
        json narrow.json 'j["converged"] and j["narrowing"]["mode"] == j["options"]["narrowing"] == "'$mode'"'
        json narrow.json 'sum(j["narrowing"]["per_precision"].values()) + j["narrowing"]["bypassed"] ==
            j["narrowing"]["tile_products"]'
        json narrow.json 'j["narrowing"]["tile_products"] % j["iterations"] == 0 and not j["narrowing"]["misled"]'
    done
done
# One that stalls, since b is about as small as the absolute bounds: the guard sees it before the limit, and `report`
# does not.
{
    printf '%s\n3400 1\n' "$array"
    awk 'BEGIN { for (i = 0; i < 3400; i++) { printf "%.17g\n", (1 + i * 7919 % 101 / 101) / 2 ^ 32 } }'
} >small.mtx
for guard in repair report; do
    # shellcheck disable=SC2086
    expect $([ $guard = report ] && echo 1 || echo 0) solve gallery:laplace2d:17:200 --solver cg $resident \
        --narrowing paper --rtol 1e-10 --rhs small.mtx --max-iterations 2000 --guard $guard --json narrow.json
    json narrow.json 'j["narrowing"]["misled"] == j["converged"] == ("'$guard'" == "repair")'
done
# shellcheck disable=SC2086
expect 0 solve spd.mtx --solver cg $resident --narrowing off --json narrow.json
json narrow.json 'j["narrowing"] is None and j["options"]["narrowing"] == "off"'
expect 2 solve spd.mtx --solver cg --narrowing safe
err_has 'narrowing safe needs --format tiles --layout resident'
for solver in gmres jacobi; do
    # shellcheck disable=SC2086
    expect 2 solve spd.mtx --solver $solver $resident --narrowing safe
    err_has 'narrowing is for --solver cg or bicgstab'
done
# shellcheck disable=SC2086
expect 2 solve spd.mtx --solver cg $resident --narrowing unsafe
err_has 'vailable: off, paper, safe'
# shellcheck disable=SC2086
expect 2 solve spd.mtx --solver cg $resident --narrowing

# a fixed number of iterations narrows by an epsilon of its own, and says so where it has none
resident="--solver cg --recurrence standard --format tiles --layout resident --policy lossless --rtol 0"
resident+=" --max-iterations 60"
expect 1 solve gallery:laplace2d:40 $resident --narrowing paper --json none.json
out_has '^narrowing +paper: nothing, because the tolerance is 0; give --narrowing-epsilon$'
json none.json 'j["narrowing"]["bypassed"] == 0 and j["options"]["narrowing_epsilon"] is None'
expect 1 solve gallery:laplace2d:40 $resident --narrowing paper --narrowing-epsilon 1e-1 --json some.json
out_has '^narrowing +paper: of [0-9]+ products of tiles'
json some.json 'j["narrowing"]["bypassed"] > 0 and j["options"]["narrowing_epsilon"] == 0.1 and j["iterations"] == 60'
expect 2 solve gallery:laplace2d:40 --solver cg --narrowing-epsilon 1e-3
err_has 'narrowing-epsilon needs --narrowing'
expect 2 solve gallery:laplace2d:40 $resident --narrowing paper --narrowing-epsilon 0
