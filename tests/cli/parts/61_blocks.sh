# SPDX-License-Identifier: Apache-2.0
# Granularity block and mean-3std from the command line: what info says, pictures, what goes with what.
expect 0 info blocks.mtx --granularity block --policy mean-3std --json info.json
out_has '^assignment +by block, policy mean-3std:0.5; mean magnitude 2, standard deviation 2.07, lambda 4.105$'
out_has '^blocks +3 of 16x16, 2.667 nonzeros each on average'
out_has '^  fp64 +all else: 1 block, 2 nonzeros .25 %.'
out_has '^  fp32 +.a. < 4.105: 2 blocks, 6 nonzeros .75 %.'
json info.json 'j["assignment"]["items"] == 3 and j["assignment"]["block"] == "16x16" and j["storage"]["block"] == "16x16"'
json info.json 'j["assignment"]["mean_magnitude"] == 2 and abs(j["assignment"]["std_magnitude"] - (30 / 7) ** 0.5) < 1e-15'
json info.json 'abs(j["assignment"]["levels"][1]["range"] - (1 + 1.5 * (30 / 7) ** 0.5)) < 1e-14'
json info.json 'j["assignment"]["nonzeros_per_block"] == 8 / 3 and j["assignment"]["policy_parameter"] == 0.5'
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [1, 2] and [l["nonzeros"] for l in j["assignment"]["levels"]] == [2, 6]'
# Zhao et al. 2024, Table 2 without the vectors: 8 NNZ_s + 12 NNZ_d + 8 N + 8
json info.json 'j["assignment"]["split_bytes"] == 8 * 6 + 12 * 2 + 8 * 40 + 8 and j["assignment"]["composite_bytes"] is None'
expect 0 info blocks.mtx --granularity block --block 32x16 --policy mean-3std --json info.json
json info.json 'j["assignment"]["items"] == 2 and [l["nonzeros"] for l in j["assignment"]["levels"]] == [4, 4]'
out_has '^blocks +2 of 32x16, 4 nonzeros'
expect 0 info blocks.mtx --granularity block --block 32x32 --policy fixed-range:8 --json info.json
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [0, 2]'
json info.json 'j["assignment"]["mean_magnitude"] is None and j["assignment"]["std_magnitude"] is None'
expect 0 info blocks.mtx --granularity block --block 16x32 --policy mean-3std:2 --levels fp64,fp16:scaled --json info.json
json info.json '[l["items"] for l in j["assignment"]["levels"]] == [0, 3]'
for granularity in row entry; do
    expect 0 info blocks.mtx --granularity $granularity --policy mean-3std:1 --json info.json
    json info.json 'abs(j["assignment"]["levels"][1]["range"] - (2 + 3 * (30 / 7) ** 0.5)) < 1e-14'
    json info.json 'j["assignment"]["block"] is None and j["assignment"]["nonzeros_per_block"] is None'
done
expect 0 spmv blocks.mtx --format split --policy mean-3std --json spmv.json
json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"]'
# the block (1, 0) is red as a whole: its low entry too
expect 0 info blocks.mtx --granularity block --policy mean-3std --plot map.png
png map.png 'len(p) == 600 and p[0][0] == low and p[16 * 15][0] == high and p[16 * 15][15] == high'
png map.png 'p[39 * 15][32 * 15] == low and p[32 * 15][39 * 15] == low and p[39 * 15][39 * 15] == low and p[16][16] == white'

for bad in 16 16x8 16X16x16 32x64 x; do
    expect 2 info blocks.mtx --granularity block --policy mean-3std --block $bad
    err_has "block"
done
expect 2 info blocks.mtx --granularity block --policy mean-3std:-1
err_has 'not a number above 0'
expect 2 info blocks.mtx --granularity blocks --policy mean-3std
expect 2 info blocks.mtx --granularity matrix --policy mean-3std
err_has 'granularity matrix'
expect 2 spmv blocks.mtx --policy mean-3std
err_has 'format auto, split, composite, tiles or packed'
for policy in none mean-3std mean-3std:0.9 fixed-range:1; do
    expect 0 spmv blocks.mtx --format csr --output y.mtx
    expect 0 spmv blocks.mtx --format tiles --policy $policy --block 32x16 --x ones --output y.mtx
    expect 0 solve spd.mtx --solver cg --format tiles --policy $policy --rtol 1e-10 --json tiles.json
    json tiles.json 'j["converged"] and j["format"] == "tiles" and sum(j["nonzeros_per_precision"].values()) == 7'
done
expect 0 info blocks.mtx --format tiles --policy mean-3std
out_has 'storage +tiles fp64,fp32'
expect 2 spmv blocks.mtx --format tiles --granularity entry
err_has 'format tiles has no granularity entry; it takes block'
expect 2 spmv blocks.mtx --format composite --granularity block --policy mean-3std
err_has "format composite has no granularity block; it takes row"
expect 2 solve blocks.mtx --solver jacobi --format split --granularity block
err_has 'parts by blocks hold the diagonal'

# split by blocks; its bytes are those that info gives by formula
expect 0 info blocks.mtx --format split --granularity block --policy mean-3std --json info.json
json info.json 'j["storage"]["bytes"] == j["assignment"]["split_bytes"] == 8 * 6 + 12 * 2 + 8 * 40 + 8'
expect 0 spmv blocks.mtx --format split --granularity block --block 32x16 --policy mean-3std --json spmv.json
json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and j["options"]["block"] == "32x16"'
for base in csr ellr sell dia ellr,sell dia,sell sell,dia; do
    padding="--max-padding 100"
    [ $base = csr ] && padding=""
    # shellcheck disable=SC2086
    expect 0 spmv gallery:rowscale:16:50 --format pbp --base $base $padding --json spmv.json
    json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and j["format"] == "split"'
    json spmv.json '[j["options"][k] for k in ("granularity", "policy", "block")] == ["block", "mean-3std", "16x16"]'
    json spmv.json 'j["options"]["base"] == "'"${base%,*}"'" and j["options"]["low_base"] == "'"${base#*,}"'"'
done
expect 2 spmv spd.mtx --format pbp --base csr,dia
err_has 'combines csr with another format, but only ellr, sell and dia can be combined'
expect 2 spmv spd.mtx --format pbp --base dia,auto
err_has 'combines auto with another format'
expect 3 spmv gallery:randomspd:300:4 --format pbp --base dia
err_has 'max_padding is 3'
expect 0 solve spd.mtx --solver cg --format pbp --rtol 1e-10 --json pbp.json
json pbp.json 'j["converged"] and j["format"] == "split" and sum(j["nonzeros_per_precision"].values()) == 7'
# a policy given before or after is taken
expect 0 spmv gallery:rowscale:16:50 --policy fixed-range:2 --format pbp --block 32x32 --json spmv.json
json spmv.json '[j["options"][k] for k in ("policy", "policy_parameter", "block")] == ["fixed-range", 2, "32x32"]'
expect 0 spmv gallery:rowscale:16:50 --format pbp --policy fixed-range:2 --json spmv.json
json spmv.json '[j["options"][k] for k in ("policy", "granularity")] == ["fixed-range", "block"]'
expect 0 compare gallery:rowscale:16:50 --device cpu --repeat 1 --granularity block --policy mean-3std --json compare.json
json compare.json '{"split", "tiles"} <= {r["format"] for r in j["results"]} and "composite" not in {r["format"] for r in j["results"]}'
expect 2 spmv blocks.mtx --format pbp --levels fp64,fp16:scaled
err_has 'granularity block has no scaled levels'
# a granularity that was asked for is not put aside
for bad in "--granularity row --format tiles" "--format tiles --granularity row"; do
    # shellcheck disable=SC2086
    expect 2 spmv blocks.mtx $bad
    err_has 'format tiles has no granularity row; it takes block'
done
for bad in "--granularity row --format pbp" "--format pbp --granularity row"; do
    # shellcheck disable=SC2086
    expect 2 spmv blocks.mtx $bad
    err_has 'granularity row does not fit --format pbp, which is split by blocks'
done
expect 0 spmv gallery:rowscale:16:50 --format pbp --format split --granularity row --json spmv.json
json spmv.json 'j["options"]["granularity"] == "row"'

# F chosen: random values of both signs in one block row need FP64, integers need nothing
python3 - >random.mtx <<'END'
import random
random.seed(3)
print("%%MatrixMarket matrix coordinate real general")
print(64, 64, 64 * 16)
for i in range(64):
    for j in range(16):
        print(i + 1, (i * 16 + j) % 64 + 1, random.uniform(0.3, 0.6) * (-1) ** j * 2.0 ** -(i // 16))
END
expect 0 info gallery:laplace2d:12 --granularity block --policy mean-3std:auto --json info.json
out_has '^assignment +by block, policy mean-3std:0.5 .chosen.; mean magnitude'
json info.json 'j["assignment"]["policy_parameter"] == 0.5 and j["assignment"]["parameter_chosen"]'
expect 0 info blocks.mtx --granularity block --policy mean-3std --json info.json
json info.json 'j["assignment"]["parameter_chosen"] is False'
expect 0 info random.mtx --granularity block --policy mean-3std:auto --json info.json
json info.json '0 < j["assignment"]["policy_parameter"] < 0.5 and j["assignment"]["largest_relative_error"] < 6e-8'
chosen=$(python3 -c 'import json; print(json.load(open("info.json"))["assignment"]["policy_parameter"])')
expect 0 spmv random.mtx --format pbp --policy mean-3std:auto --json spmv.json
out_has '^policy +mean-3std:0.[0-9]+ by block, chosen for split$'
json spmv.json "j['options']['policy_parameter'] == $chosen"
json spmv.json 'j["options"]["parameter_chosen"] and j["options"]["policy"] == "mean-3std"'
for x in uniform:5 random:6; do
    expect 0 compare random.mtx --device cpu --repeat 1 --x $x --digits --granularity block --policy mean-3std:auto --json compare.json
    out_has '^policy +mean-3std:0.[0-9]+ by block, chosen for tiles$'
    json compare.json 'all(r["digits"]["fp64"]["accurate"] for r in j["results"] if r["policy"] == "mean-3std")'
    json compare.json "{r['policy_parameter'] for r in j['results'] if r['format'] in ('split', 'tiles')} == {$chosen}"
    json compare.json 'all(r["policy_parameter"] is None for r in j["results"] if r["format"] == "csr")'
done
expect 0 solve spd.mtx --solver cg --format tiles --policy mean-3std:auto --rtol 1e-10 --json tiles.json
json tiles.json 'j["converged"] and j["options"]["parameter_chosen"]'
expect 2 info random.mtx --policy mean-3std:automatic
err_has 'not a number above 0 or auto'
expect 2 info random.mtx --policy mean-range:auto
err_has 'not a number above 0'
# the bases of fewest bytes: diagonals and slices where rows are even, CSR where they are not
expect 0 spmv gallery:laplace2d:40 --format pbp --base auto --json spmv.json
json spmv.json 'j["options"]["base"] == "dia" and j["options"]["low_base"] == "sell" and j["componentwise_error"] <= j["componentwise_bound"]'
expect 0 spmv blocks.mtx --format pbp --base auto --json spmv.json
json spmv.json 'j["options"]["base"] == "csr" and j["componentwise_error"] <= j["componentwise_bound"]'
