# SPDX-License-Identifier: Apache-2.0
# Multigrid for systems of equations: blocks, coordinates, near-nullspace vectors.

# The nodes of elasticity3d 4, as its unknowns are ordered: x first, then y, then z from 1.
awk 'BEGIN {
    print "%%MatrixMarket matrix array real general"; print "100 3"
    for (d = 0; d < 3; d++)
        for (z = 1; z <= 4; z++) for (y = 0; y <= 4; y++) for (x = 0; x <= 4; x++) print d == 0 ? x : d == 1 ? y : z
}' > nodes.mtx
problem=gallery:elasticity3d:4
expect 0 solve $problem --solver cg --precond amg --device cpu --json constants.json
out_has '^levels +[0-9]+ by aggregation'
expect 0 solve $problem --solver cg --precond amg --coordinates nodes.mtx --device cpu --json modes.json
json modes.json 'j["amg"]["coarsening"] == "aggregation" and j["options"]["coordinates"] == "nodes.mtx"'
json modes.json 'j["options"]["near_nullspace"] is None and j["options"]["amg_block_size"] == 3'
json constants.json 'j["options"]["coordinates"] is None and j["options"]["amg_block_size"] is None'

awk 'BEGIN { print "%%MatrixMarket matrix array real general"; print "300 1"; for (i = 0; i < 300; i++) print 1 }' \
    > ones.mtx
expect 0 solve $problem --solver cg --precond amg --near-nullspace ones.mtx --amg-block-size 3 --device cpu \
    --json solve.json
json solve.json 'j["options"]["near_nullspace"] == "ones.mtx" and j["amg"]["coarsening"] == "aggregation"'
expect 0 solve $problem --solver cg --precond amg --amg-coarsening classical --device cpu --json solve.json
json solve.json 'j["amg"]["coarsening"] == "classical"'

expect 0 solve gallery:elasticity3d:8 --solver cg --precond amg --amg-modes 3 --device cpu --json found.json
out_has '^ +3 near-null vectors found by trial cycles'
json found.json 'j["amg"]["modes"] == 3 and j["options"]["amg_modes"] == 3'
json constants.json 'j["amg"]["modes"] == 0 and j["options"]["amg_modes"] == 0'
expect 2 solve $problem --precond amg --amg-coarsening classical --amg-modes 3
err_has '--amg-modes is for aggregation, which --amg-coarsening classical excludes'
for option in '--amg-restriction air' '--amg-split ruge-stueben' '--amg-smoother fc-jacobi'; do
    # shellcheck disable=SC2086 # an option and its value
    expect 2 solve $problem --precond amg --near-nullspace ones.mtx $option
    err_has "a near-nullspace is for aggregation, which $option excludes"
done
expect 2 solve $problem --precond amg --amg-modes 16
# What the matrix leaves without effect is told.
expect 0 solve $problem --precond amg --amg-truncation 3 --device cpu
err_has 'warning: amg: --amg-truncation has no effect, because the levels are by aggregation'
expect 0 solve gallery:laplace2d:20 --precond amg --amg-format scalar --device cpu
err_has 'warning: amg: --amg-format has no effect, because the levels are by classical coarsening'
expect 0 solve gallery:laplace2d:10 --precond amg --amg-modes 2 --device cpu
err_has 'warning: amg: --amg-modes has no effect, because trial cycles found no vector'
expect 0 solve $problem --precond amg --amg-aggressive 0 --amg-block-size 3 --device cpu
! grep -q warning err && pass || fail "$(cat err)"
expect 2 solve $problem --precond amg --coordinates nodes.mtx --amg-block-size 2
err_has 'nodes.mtx: 3 coordinates, the unknowns of a node, but --amg-block-size is 2; leave it out'
expect 0 solve $problem --precond amg --coordinates nodes.mtx --amg-block-size 3 --device cpu
# With as many vectors as an aggregate has rows the next level is no smaller.
awk 'BEGIN { srand(7); print "%%MatrixMarket matrix array real general"; print "900 16"
    for (i = 0; i < 900 * 16; i++) print rand() }' >many.mtx
expect 0 solve gallery:laplace2d:30 --precond amg --near-nullspace many.mtx --device cpu
err_has 'warning: amg: a near-nullspace has no effect, because the levels are by classical coarsening'
expect 0 solve gallery:laplace2d:30 --precond amg --near-nullspace many.mtx --amg-coarsening aggregation --device cpu
err_has 'warning: amg: one level is left alone, because with 16 columns of a near-nullspace the next has as many rows'
# info takes the same files, and advises the solve that has them.
expect 0 info $problem --precond amg --coordinates nodes.mtx --json info.json
out_has '^ +first --solver cg --precond amg --amg-block-size 3 --coordinates nodes.mtx: '
json info.json 'j["amg"]["coarsening"] == "aggregation" and j["amg"]["levels"][1]["rows"] % 6 == 0'
expect 0 info $problem --solve=cg,amg --near-nullspace ones.mtx
out_has '^memory of a solve +cg with preconditioner amg: '
expect 0 info $problem --coordinates nodes.mtx
expect 2 info $problem --precond jacobi --coordinates nodes.mtx
err_has '--coordinates is for --precond amg by aggregation'
expect 3 info $problem --precond amg --coordinates ones.mtx
# A K cycle is for a flexible method.
expect 0 solve gallery:laplace2d:30 --precond amg --amg-cycle k --device cpu --json solve.json
json solve.json 'j["solver"] == "fgmres" and j["converged"]'
expect 2 solve gallery:helmholtz2d:20 --solver gmres --precond amg --amg-modes 3 --device cpu
err_has 'vectors are found for real matrices alone'

expect 2 solve $problem --precond amg --coordinates nodes.mtx --near-nullspace ones.mtx
err_has 'give one'
expect 0 solve $problem --coordinates nodes.mtx --device cpu --json solve.json
json solve.json 'j["converged"] and j["options"]["coordinates"] == "nodes.mtx"'
expect 2 solve $problem --precond jacobi --coordinates nodes.mtx
err_has '--coordinates is for --precond amg'
expect 2 solve $problem --precond amg --amg-coarsening classical --near-nullspace ones.mtx
err_has '--near-nullspace is for --precond amg'
expect 3 solve $problem --precond amg --coordinates ones.mtx
err_has '300 rows and 1 column, but --coordinates needs'
expect 3 solve $problem --precond amg --near-nullspace nodes.mtx
err_has '100 rows and 3 columns, but --near-nullspace needs 300 rows'
expect 3 solve $problem --precond amg --coordinates missing.mtx
expect 2 solve $problem --precond amg --amg-block-size 7
