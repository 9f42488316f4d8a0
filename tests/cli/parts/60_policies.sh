# SPDX-License-Identifier: Apache-2.0
# Policies from the command line: what info says of an assignment, pictures, refusals.
# png FILE EXPRESSION: over p, rows of pixels, and the colours white, high, low, lowest
png() {
    python3 "$here/check_png.py" "$1" "$2" 2>png_err && pass || fail "PNG: $2: $(tail -n 1 png_err)"
}
{
    printf '%%%%MatrixMarket matrix coordinate real general\n4 5 6\n'
    printf '1 1 0.5\n1 2 8\n2 2 0.25\n2 5 0.1\n4 3 1e-5\n4 5 0\n'
} >levels.mtx

expect 0 info spd.mtx --json info.json
json info.json 'j["assignment"] is None and j["plot"] is None'
expect 0 info levels.mtx --policy fixed-range --json info.json
out_has '^assignment +by row, policy fixed-range:1, share 99 %; 1 empty row$'
out_has '^  fp64 +all else: 1 row, 2 nonzeros .33.33 %.'
out_has '^  fp32 +.a. < 1: 2 rows, 4 nonzeros .66.67 %.'
out_has '^storage error +[0-9.e-]+ relative at most'
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [1, 2] and j["assignment"]["empty"] == 1'
json info.json '[l["nonzeros"] for l in j["assignment"]["levels"]] == [2, 4] and
    j["assignment"]["levels"][1]["range"] == 1'
json info.json '0 < j["assignment"]["largest_relative_error"] <= 2.0 ** -24'
# split: offsets of 3 rows and the end, 4 bytes of index and 8 or 4 of value; composite: both values of all
json info.json 'j["assignment"]["split_bytes"] == 4 * 4 + 2 * 12 + 4 * 8'
json info.json 'j["assignment"]["composite_bytes"] == 4 * 4 + 6 * 16 and j["assignment"]["permutation_bytes"] == 12'
# the paper, Table I: 4 M + 8 V + 4 V64 + 12, and 4 M + 16 V + 8
json info.json 'j["assignment"]["paper_split_bytes"] == 4 * 4 + 8 * 6 + 4 * 2 + 12'
json info.json 'j["assignment"]["paper_composite_bytes"] == 4 * 4 + 16 * 6 + 8'
expect 0 info levels.mtx --policy fixed-range --granularity entry --json info.json
json info.json '[l["nonzeros"] for l in j["assignment"]["levels"]] == [1, 5]'
# prior art there: 8 M + 8 V + 4 V64 + 8
json info.json 'j["assignment"]["split_bytes"] == 8 * 4 + 8 * 6 + 4 * 1 + 8 and
    j["assignment"]["composite_bytes"] is None'
expect 0 info levels.mtx --policy fixed-range --share 50 --json info.json
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [0, 3] and j["assignment"]["share"] == 50'
expect 0 info levels.mtx --policy fixed-range --share at-most-one --json info.json
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [0, 3] and j["assignment"]["share"] == "at-most-one"'
expect 0 info levels.mtx --policy mean-range:0.1 --json info.json
json info.json 'abs(j["assignment"]["mean_magnitude"] - 8.85001 / 5) < 1e-15'
json info.json 'j["assignment"]["policy"] == "mean-range" and j["assignment"]["policy_parameter"] == 0.1'
expect 0 info levels.mtx --policy fixed-range --levels fp64,fp16 --json info.json
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [2, 1]' # 1e-5 is a subnormal
expect 0 info levels.mtx --policy fixed-range --levels fp64,fp16 --allow-underflow --json info.json
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [1, 2] and j["assignment"]["allow_underflow"]'
expect 0 info levels.mtx --policy fixed-range --levels fp64,fp16:scaled --json info.json
out_has '^  fp16:scaled +.a. < 1: 2 rows'
json info.json 'j["assignment"]["levels"][1]["scaled"] and j["storage"]["levels"] == "fp64,fp16:scaled"'
for percent in 10 50 90; do
    expect 0 info gallery:rowscale:16:$percent --policy mean-range --json info.json
    json info.json "abs(100 * j['assignment']['levels'][1]['nonzeros'] / j['nnz'] - $percent) < 0.2"
done

# pictures: squares of several pixels for a small matrix, the highest precision in each pixel of a large one
expect 0 info levels.mtx --policy fixed-range --granularity entry --plot map.png --json info.json
out_has '^plot +map.png, 600 x 480 pixels, .*: fp64 red .#d55e00., fp32 blue .#0072b2.'
json info.json 'j["plot"] == {"file": "map.png", "width": 600, "height": 480,
    "colours": {"fp64": "#d55e00", "fp32": "#0072b2"}}'
png map.png 'len(p) == 480 and len(p[0]) == 600'
png map.png '[p[60][x] for x in (60, 180, 300, 599)] == [low, high, white, white]'
png map.png 'p[0][119] == low and p[0][120] == high and p[119][239] == high and p[120][239] == low'
png map.png '[p[180][x] for x in (60, 180, 300, 599)] == [white, low, white, low]'
png map.png 'all(c == white for c in p[300])'
png map.png '[p[479][x] for x in (239, 240, 359, 360, 599)] == [white, low, low, white, low]'
expect 0 info levels.mtx --policy fixed-range --plot map.png
png map.png 'p[60][60] == high and p[60][180] == high and p[180][180] == low'
expect 0 info levels.mtx --policy fixed-range:10 --levels fp64,fp32,fp16 --allow-underflow --granularity entry \
    --plot map.png
png map.png 'p[479][250] == lowest and p[0][0] == low and not any(high in row for row in p)'
expect 0 info levels.mtx --plot map.png
png map.png 'p[0][0] == high and p[479][250] == high'
# row 0 of four columns is high, all others low: a pixel of two rows shows the high one
{
    printf '%%%%MatrixMarket matrix coordinate real general\n2400 4 2403\n1 2 9\n1 3 9\n1 4 9\n'
    awk 'BEGIN { for (i = 1; i <= 2400; i++) { print i, 1, i == 1 ? 9 : 0.5 } }'
} >tall.mtx
expect 0 info tall.mtx --policy fixed-range --plot map.png
png map.png 'len(p) == 1200 and len(p[0]) == 2'
png map.png 'p[0] == [high, high] and all(row == [low, white] for row in p[1:])'
expect 3 info levels.mtx --plot no/such/map.png
err_has 'no/such/map.png: the file cannot be written'
expect 3 info missing.mtx --plot map2.png
absent map2.png
expect 2 info levels.mtx --plot ''

# y comes back in the matrix's order whatever the storage's
expect 0 spmv levels.mtx --format split --policy fixed-range --x random:1 --output y_original.mtx
for order in permuted symmetric; do
    matrix=levels.mtx
    [ $order = permuted ] || matrix=unsym.mtx
    expect 0 spmv $matrix --format composite --policy fixed-range:4 --row-order $order --x random:1 --json order.json
    json order.json 'j["componentwise_error"] <= j["componentwise_bound"] and
        j["fp64_componentwise_error"] <= 2.0 ** -23'
    expect 0 compare $matrix --format split --policy fixed-range:4 --row-order $order --json order.json
    json order.json 'all(r["fp64_componentwise_error"] <= 2.0 ** -23 for r in j["results"])'
done
expect 0 spmv levels.mtx --format split --policy fixed-range --x random:1 --row-order permuted --output y_permuted.mtx
if cmp -s y_original.mtx y_permuted.mtx; then pass; else fail 'y depends on --row-order'; fi
for solver in cg bicgstab; do
    expect 2 solve spd.mtx --solver $solver --format split --policy mean-range --row-order permuted
    err_has 'row-order'
done

expect 2 spmv spd.mtx --policy mean-range
err_has 'format auto, split, composite, tiles or packed'
expect 2 solve spd.mtx --policy mean-range --format sell
err_has 'format auto, split, composite, tiles or packed'
for option in "levels fp64,bf16" "granularity entry" allow-underflow; do
    # shellcheck disable=SC2086
    expect 2 spmv spd.mtx --$option
    err_has "\(--${option%% *}\) is for format split, composite, tiles or packed, not csr"
done
for format in csr composite; do
    expect 2 spmv spd.mtx --format $format --block 16x32
    err_has "\(--block\) is for format split or tiles, not $format"
done
for option in "share 50" "base ellr" "row-order permuted"; do
    for format in csr tiles; do
        # shellcheck disable=SC2086
        expect 2 spmv spd.mtx --format $format --$option
        err_has "\(--${option%% *}\) is for format split or composite, not $format"
    done
done
expect 2 spmv spd.mtx --format split --matrix-precision fp32
err_has 'split has the precisions of --levels'
expect 2 spmv spd.mtx --format split --granularity matrix
err_has 'takes row, entry or block'
expect 2 solve spd.mtx --solver jacobi --format composite --granularity entry
err_has 'format composite has no granularity entry; it takes row'
for bad in "granularity rows" "policy mean" "policy mean-3std:0" "policy mean-3std:x" "block 16" \
    "block 16x8" "block 16x16x16" "policy none:1" "policy mean-range:x" "policy fixed-range:-1" \
    "policy lossless:0" "policy lossless:x" "share 0" "share 101" "share most" "levels fp32,fp64" "levels fp64,fp33" \
    "levels fp64,fp32,fp16,bf16,e4m3" "levels fp64,fp8,e5m2" "base coo" "base csr,dia" "base auto,sell" \
    "base dia,auto" "base dia,coo" "base ,dia" "base dia," "row-order none"; do
    # shellcheck disable=SC2086
    expect 2 info spd.mtx --$bad
done
expect 2 info spd.mtx --granularity matrix --policy mean-range
err_has 'granularity matrix'
expect 2 info spd.mtx --granularity entry --levels fp64,fp16:scaled --policy mean-range
err_has 'scaled level'

# a policy that leaves nothing low is no policy: each command says so in a line
nothing='^NOTE +policy mean-range leaves nothing low: all 4380 nonzeros are in fp64$'
expect 0 info gallery:laplace2d:30 --policy mean-range
out_has "$nothing"
for command in spmv "solve --solver cg" compare; do
    expect 0 $command gallery:laplace2d:30 --format split --policy mean-range --device cpu
    out_has "$nothing"
    expect 0 $command gallery:laplace2d:30 --format split --policy mean-range:10 --device cpu
    grep -q '^NOTE' out && fail "a NOTE without need" || pass
done
expect 0 timestep gallery:laplace2d:30 --count 3 --policy mean-range:0.1 --device cpu
out_has '^NOTE +policy mean-range leaves nothing low: all 3480 nonzeros are in fp64$'
expect 0 timestep gallery:laplace2d:30 --count 3 --steps fp64 --format composite --policy mean-range:0.1 --device cpu
grep -q '^NOTE' out && fail "a NOTE about a policy that no step takes" || pass

# solve reports what each precision holds and costs, as info does
expect 0 solve "$TESS_DATA_DIR/1138_bus.mtx.gz" --solver cg --format split --policy mean-range --json solve.json
out_has '^  fp32 +.a. < 48.01: 498 rows, 1377 nonzeros .33.97 %., error [0-9.]+e-08 at most$'
json solve.json 'j["assignment"]["levels"][1]["items"] == 498 and
    j["assignment"]["levels"][0]["largest_relative_error"] == 0'
json solve.json '0 < j["assignment"]["levels"][1]["largest_relative_error"] ==
    j["assignment"]["largest_relative_error"] < 2**-24'
expect 0 solve "$TESS_DATA_DIR/1138_bus.mtx.gz" --solver cg --json solve.json
json solve.json 'j["assignment"] is None'

# a bound on the error of the product: in reports, and kept. 1/3 in fp16 is off by 2.44e-4 of itself, in fp32 by 3e-8
{
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n'
    printf '1 1 0.333333333333\n2 1 0.333333333333\n2 2 1\n3 3 2\n'
} >bound.mtx
expect 0 info bound.mtx --policy error-bound:1e-4 --granularity entry --json info.json
out_has '^assignment +by entry, policy error-bound:0.0001$'
out_has '^  fp32 +within the bound: 1 entry, 1 nonzero '
out_has '^backward error +6.1e-05 at most, by storage; bound 0.0001, of the norm of each row$'
json info.json '[l["nonzeros"] for l in j["assignment"]["levels"]] == [0, 1, 3] and not j["assignment"]["matrix_norm"]'
json info.json '6.1e-5 < j["assignment"]["backward_error"] < 6.11e-5 and j["assignment"]["policy_parameter"] == 1e-4'
expect 0 info bound.mtx --policy error-bound:1e-4:matrix --json info.json
out_has '^assignment +by row, policy error-bound:0.0001:matrix$'
json info.json '[l["nonzeros"] for l in j["assignment"]["levels"]] == [0, 0, 4] and j["assignment"]["matrix_norm"]'
expect 0 spmv bound.mtx --format csr --policy error-bound:1e-4 --json spmv.json
out_has '^storage +csr fp32,'
json spmv.json 'j["error_bound"] == 1e-4 and 0 < j["backward_error"] < 6e-8'
expect 0 spmv bound.mtx --format split --policy error-bound:1e-4:matrix --json spmv.json
out_has '^backward error .*of the norm of the matrix$'
# each value within E of itself; what is too small to count is left out by entry, but not a zero that the file has
expect 0 info bound.mtx --policy error-bound:1e-4:componentwise --granularity entry --json info.json
out_has '^assignment +by entry, policy error-bound:0.0001:componentwise$'
out_has '^backward error +2.98e-08 at most, by storage; bound 0.0001, of each value$'
json info.json 'j["assignment"]["componentwise"] and [l["nonzeros"] for l in j["assignment"]["levels"]] == [0, 2, 2]'
{
    printf '%%%%MatrixMarket matrix coordinate real general\n2 3 5\n'
    printf '1 1 1\n1 2 1e-6\n1 3 0\n2 1 1e-6\n2 2 1\n'
} >small.mtx
expect 0 info small.mtx --policy error-bound:1e-5 --granularity entry --json info.json
out_has '^  left out +within the bound: 2 entries \(40 %\), stored nowhere$'
out_has '^backward error +1e-06 at most, by storage; bound 1e-05, of the norm of each row$'
json info.json 'j["assignment"]["left_out"] == 2 and [l["nonzeros"] for l in j["assignment"]["levels"]] == [0, 0, 3]'
expect 0 spmv small.mtx --format split --policy error-bound:1e-5 --granularity entry --json spmv.json
out_has '^backward error +1e-06 at most'
json spmv.json 'abs(j["backward_error"] - 1e-6) < 1e-11'
json spmv.json 'j["options"]["policy_parameter"] == 1e-5 and not j["options"]["componentwise"]'
expect 0 info small.mtx --policy error-bound:1e-16 --granularity entry --json info.json
json info.json 'j["assignment"]["left_out"] == 0 and j["assignment"]["backward_error"] == 0'
expect 0 spmv bound.mtx --json spmv.json
json spmv.json 'j["error_bound"] is None and j["backward_error"] is None'
expect 0 solve spd.mtx --solver cg --format split --policy error-bound:1e-9 --json solve.json
json solve.json '0 <= j["assignment"]["backward_error"] <= 1e-9'
expect 0 solve spd.mtx --solver cg --format csr --policy error-bound:1e-2
out_has '^backward error '
for wrong in error-bound error-bound:1 error-bound:0 error-bound:-1 error-bound:nan error-bound:1e-7:row \
    error-bound:1e-7:matrix:componentwise lossless:1e-7:componentwise; do
    expect 2 info bound.mtx --policy "$wrong"
done
expect 2 spmv bound.mtx --format split --policy error-bound:1e-7 --share 90
expect 2 solve spd.mtx --solver jacobi --format csr --policy error-bound:1e-7
