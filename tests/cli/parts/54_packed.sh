# SPDX-License-Identifier: Apache-2.0
# Packed from the command line.
for levels in fp64 fp32 bf16 fp16 e4m3 e5m2; do
    expect 0 spmv gallery:laplace2d:21 --format packed --levels $levels --x random:3 --repeat 2 --json spmv.json
    json spmv.json "j['format'] == 'packed' and j['componentwise_error'] <= j['componentwise_bound']"
    json spmv.json 'j["fp64_componentwise_error"] < 1e-14'
done
for policy in fixed-range:2 mean-range:0.5 mean-3std lossless error-bound:1e-5; do
    expect 0 spmv gallery:elasticity3d:5 --format packed --policy $policy --x random:3 --repeat 2 --json spmv.json
    json spmv.json 'j["format"] == "packed" and j["componentwise_error"] <= j["componentwise_bound"]'
    expect 0 solve gallery:elasticity3d:4 --solver cg --format packed --policy $policy --rtol 1e-9 --json solve.json
    json solve.json 'j["format"] == "packed" and j["converged"]'
done

# a stencil: 8 bytes for each value, and little for columns
expect 0 info gallery:laplace3d:20 --format packed --json info.json
json info.json '8 * 53600 < j["storage"]["bytes"] < 9.4 * 53600'
expect 0 info gallery:laplace3d:20 --format packed --levels fp16 --json info.json
json info.json '2 * 53600 < j["storage"]["bytes"] < 3.4 * 53600'

# what is refused, and what would do
expect 2 spmv spd.mtx --format packed --matrix-precision fp16
err_has 'format packed has the precisions of --levels'
expect 2 spmv spd.mtx --format packed --policy mean-3std --granularity row
err_has 'format packed has no granularity row; it takes entry'
expect 2 spmv spd.mtx --format packed --policy mean-3std --levels fp64,fp16:scaled
err_has 'format packed with granularity entry has no scaled levels'
expect 2 spmv spd.mtx --format packed --arithmetic fp32
err_has 'format packed has no fp32 arithmetic'
expect 2 solve spd.mtx --format split --base packed
