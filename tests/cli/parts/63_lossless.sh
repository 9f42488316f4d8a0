# SPDX-License-Identifier: Apache-2.0
# Policy lossless from the command line: levels, the kind of fp8, a loss, formats, what goes with what.
# 40 by 40, blocks of 16 by 16: (0, 0) for fp8, (1, 0) for fp64 unless it may lose a bit, (1, 1) for fp32, (2, 2) for fp16
{
    printf '%%%%MatrixMarket matrix coordinate real general\n40 40 9\n'
    printf '1 1 1\n16 16 -0.5\n17 1 1.0000000000000002\n18 2 0\n20 20 16777215\n21 21 1\n40 39 17\n40 40 -0\n33 33 1\n'
} >lossless.mtx
expect 0 info lossless.mtx --granularity block --policy lossless --json info.json
out_has '^assignment +by block, policy lossless$'
out_has '^  fp64 +all else: 1 block, 2 nonzeros'
out_has '^  fp32 +no loss: 1 block, 2 nonzeros'
out_has '^  fp16 +no loss: 1 block, 3 nonzeros'
out_has '^  e4m3 +no loss: 1 block, 2 nonzeros'
out_has '^storage error +0 relative at most'
json info.json '[l["precision"] for l in j["assignment"]["levels"]] == ["fp64", "fp32", "fp16", "e4m3"]'
json info.json '[l["nonzeros"] for l in j["assignment"]["levels"]] == [2, 2, 3, 2] and j["assignment"]["fp8_chosen"]'
json info.json 'j["assignment"]["policy"] == "lossless" and j["assignment"]["policy_parameter"] == 0'
json info.json 'j["assignment"]["largest_relative_error"] == 0 and all(l["range"] is None for l in j["assignment"]["levels"])'
json info.json 'j["storage"]["policy"] == "lossless" and j["storage"]["levels"] == "fp64,fp32,fp16,fp8"'
expect 0 info lossless.mtx --granularity block --policy lossless:1e-15 --json info.json
out_has '^assignment +by block, policy lossless:1e-15$'
out_has '^  e4m3 +loss up to 1e-15: 2 blocks, 4 nonzeros'
json info.json '0 < j["assignment"]["largest_relative_error"] <= 1e-15 and j["assignment"]["policy_parameter"] == 1e-15'
expect 0 info lossless.mtx --granularity entry --policy lossless --levels fp64,e5m2 --plot map.png --json info.json
json info.json '[l["nonzeros"] for l in j["assignment"]["levels"]] == [3, 6] and not j["assignment"]["fp8_chosen"]'
expect 0 info lossless.mtx --granularity row --policy lossless --plot map.png
out_has 'fp64 red .*, fp32 blue .*, fp16 green .*, e4m3 purple'
# a power of two for a block, and numbers that only e5m2 reaches
expect 0 info lossless.mtx --granularity block --policy lossless --levels fp64,fp8:scaled --json info.json
json info.json '[l["nonzeros"] for l in j["assignment"]["levels"]] == [7, 2]'
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 32768\n2 2 1e-5\n' >high.mtx
expect 0 info high.mtx --granularity row --policy lossless --json info.json
out_has '^  e5m2 +no loss: 1 row\b'

# y is that of FP64, in every format that has parts; sums of these integers are exact
expect 0 spmv lossless.mtx --format csr --x ones --output y_csr.mtx
for format in "split" "split --granularity entry" "composite" "pbp" "tiles" "tcki --kernel paper" "split --base ellr"; do
    # shellcheck disable=SC2086
    expect 0 spmv lossless.mtx --format $format --policy lossless --x ones --output y.mtx --json spmv.json
    if cmp -s y_csr.mtx y.mtx; then pass; else fail "y of $format differs"; fi
    json spmv.json 'j["options"]["levels"] == "fp64,fp32,fp16,e4m3" and j["options"]["policy_parameter"] is None'
done
expect 0 compare lossless.mtx --device cpu --repeat 1 --granularity block --policy lossless --json compare.json
json compare.json 'any(r["policy"] == "lossless" and r["format"] == "tiles" for r in j["results"])'
json compare.json 'all(r["fp64_componentwise_error"] <= 2.0 ** -50 for r in j["results"] if r["policy"] == "lossless")'
expect 0 solve spd.mtx --solver cg --format tiles --policy lossless --rtol 1e-12 --json tiles.json
json tiles.json 'j["converged"] and j["nonzeros_per_precision"]["e4m3"] == 7 and sum(j["nonzeros_per_precision"].values()) == 7'

# the storage of info is that of a solve: one precision, the lowest that holds all, or the one that auto takes
for way in "" "--granularity matrix" "--format csr"; do
    # shellcheck disable=SC2086
    expect 0 info gallery:laplace2d:12 --policy lossless $way --json info.json
    out_has '^storage +csr e4m3: '
    json info.json 'j["storage"]["matrix_precision"] == "e4m3" and j["storage"]["bytes"] == 4 * 145 + 5 * j["nnz"]'
done
expect 0 info gallery:laplace2d:12 --policy lossless --format auto --json info.json
out_has '^storage +csr .chosen. fp32: '
json info.json 'j["storage"]["matrix_precision"] == "fp32" and j["storage"]["bytes"] == 4 * 145 + 8 * j["nnz"]'
for way in "--granularity row" "--levels fp64,fp8:scaled" "--matrix-precision fp64 --granularity entry"; do
    # shellcheck disable=SC2086
    expect 0 info gallery:laplace2d:12 --policy lossless $way
    out_has '^storage +csr fp64: '
done

expect 2 info lossless.mtx --policy lossless --levels fp32,fp16
err_has 'needs the level fp64'
expect 2 info lossless.mtx --policy lossless:1
expect 2 info lossless.mtx --policy mean-range --levels fp64,fp8
err_has 'kind of fp8'

# one precision: the lowest that holds all, which a solve takes as FP64
for format in csr ellr sell dia; do
    padding="--max-padding 10"
    [ $format = csr ] && padding=""
    # shellcheck disable=SC2086
    expect 0 spmv spd.mtx --format $format --policy lossless $padding --x ones --json spmv.json
    out_has "^storage +$format e4m3 .exact., "
    json spmv.json 'j["matrix_precision"] == "e4m3" and j["matrix_exact"] and j["options"]["granularity"] == "matrix"'
    json spmv.json 'j["fp64_componentwise_error"] <= j["componentwise_bound"]'
    expect 0 solve gallery:laplace2d:12 --device cpu --solver cg --format $format --rtol 1e-10 --json wide.json
    json wide.json 'j["matrix_exact"] and j["matrix_precision"] == "fp64" and j["policy"] == "none"'
    for way in "--policy lossless" "--policy lossless --granularity matrix" "--matrix-precision fp16"; do
        # shellcheck disable=SC2086
        expect 0 solve gallery:laplace2d:12 --device cpu --solver cg --format $format $way --rtol 1e-10 --json low.json
        out_has "^method .* $format (e4m3|fp16) .exact., guard"
        json low.json 'j["matrix_exact"] and j["refinements"] == 0 and not j["escalated"]'
        json low.json "j['iterations'] == $(python3 -c 'import json; print(json.load(open("wide.json"))["iterations"])')"
    done
    json low.json 'j["policy"] == "none" and j["nonzeros_per_precision"]["fp16"] == j["nnz"]'
done
expect 0 solve spd.mtx --solver cg --policy lossless --levels fp64,fp32 --json low.json
json low.json 'j["format"] == "csr" and j["policy"] == "lossless" and j["matrix_precision"] == "fp32" and j["matrix_exact"]'
expect 0 spmv lossless.mtx --policy lossless --json spmv.json
json spmv.json 'j["matrix_precision"] == "fp64" and j["matrix_exact"]'
expect 0 spmv lossless.mtx --format csr --matrix-precision fp16 --json spmv.json
json spmv.json 'not j["matrix_exact"]'
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 32768\n2 2 0.0000152587890625\n' >apart.mtx
expect 0 info apart.mtx --format dia --policy lossless --json info.json
out_has '^storage +dia e5m2: '
out_has '^  e5m2 +no loss: 1 matrix, 2 nonzeros'
json info.json 'j["assignment"]["granularity"] == "matrix" and j["storage"]["matrix_precision"] == "e5m2"'
expect 0 info apart.mtx --granularity matrix --policy lossless
out_has '^  e5m2 +no loss: 1 matrix, 2 nonzeros'
expect 0 compare spd.mtx --device cpu --repeat 1 --format csr --policy lossless --json compare.json
json compare.json '[r["matrix_precision"] for r in j["results"]] == ["e4m3"]'
expect 2 spmv lossless.mtx --format dia --policy lossless --granularity row
err_has 'takes matrix'
expect 2 spmv lossless.mtx --format dia --policy lossless --granularity block
err_has 'by block|takes matrix'
expect 2 spmv lossless.mtx --policy lossless --matrix-precision fp16
err_has 'precisions of --levels'
expect 2 spmv lossless.mtx --policy lossless --block 16x32
err_has '[(]--block[)] is for format split or tiles'
expect 2 spmv lossless.mtx --policy mean-range
err_has 'choose --format auto, split, composite, tiles or packed'
expect 2 solve spd.mtx --solver jacobi --policy lossless --format csr
err_has 'solver jacobi takes --policy lossless only with'
