# SPDX-License-Identifier: Apache-2.0
# --format auto: what it comes to on the host, and that every report says so; pbp and tcki with --policy before and after.
expect 0 spmv spd.mtx --format auto --device cpu --json spmv.json
out_has '^storage +csr .chosen. fp64'
json spmv.json 'j["format"] == "csr" and j["options"]["format"] == "csr" and j["options"]["format_chosen"]'
json spmv.json 'j["options"]["granularity"] == "row" and j["componentwise_error"] <= j["componentwise_bound"]'
expect 0 spmv spd.mtx --format csr --json spmv.json
out_has '^storage +csr fp64,'
json spmv.json 'j["options"]["format_chosen"] is False'
expect 0 spmv gallery:rowscale:16:50 --format auto --device cpu --matrix-precision fp16 --json spmv.json
json spmv.json 'j["format"] == "csr" and j["matrix_precision"] == "fp16"'
expect 0 spmv gallery:laplace2d:12 --format auto --arithmetic fp32 --json spmv.json
json spmv.json 'j["format"] == "sell" and j["vector_precision"] == "fp32" and j["componentwise_error"] <= j["componentwise_bound"]'

# without loss, on the host: rows, in fp32 where that holds every value
expect 0 spmv gallery:laplace2d:12 --format auto --policy lossless --device cpu --json spmv.json
out_has '^storage +csr .chosen. fp32 .exact.'
json spmv.json 'j["format"] == "csr" and j["matrix_precision"] == "fp32" and j["matrix_exact"]'
expect 0 solve gallery:laplace2d:12 --solver cg --format auto --policy lossless --device cpu --json solve.json
json solve.json 'j["format"] == "csr" and j["nonzeros_per_precision"]["fp32"] > 0'

# with a policy: split, in the granularity that was asked for, whatever the order of options; tiles where split refuses
for order in "--format auto --policy mean-3std" "--policy mean-3std --format auto"; do
    # shellcheck disable=SC2086
    expect 0 spmv blocks.mtx $order --device cpu --json spmv.json
    json spmv.json '[j["options"][k] for k in ("format", "policy", "granularity")] == ["split", "mean-3std", "row"]'
done
for granularity in row entry block; do
    expect 0 spmv blocks.mtx --format auto --device cpu --granularity $granularity --policy mean-3std --json spmv.json
    json spmv.json "j['format'] == 'split' and j['options']['granularity'] == '$granularity'"
    json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"]'
done
expect 0 spmv blocks.mtx --format auto --granularity block --levels fp64,fp16:scaled --policy mean-3std --json spmv.json
json spmv.json 'j["format"] == "tiles" and j["options"]["granularity"] == "block"'
expect 0 spmv blocks.mtx --format auto --kernel paper --policy mean-3std --json spmv.json
json spmv.json 'j["format"] == "tiles" and j["options"]["granularity"] == "block" and sum(j["block_formats"].values()) == 3'
expect 0 spmv blocks.mtx --format auto --device cpu --policy mean-3std:auto --base ellr --max-padding 100 --json spmv.json
json spmv.json 'j["format"] == "split" and j["options"]["base"] == "ellr" and j["options"]["parameter_chosen"]'

expect 0 info blocks.mtx --format auto --json info.json
out_has '^storage +csr .chosen. fp64'
json info.json 'j["storage"]["format"] == "csr" and j["storage"]["format_chosen"] and j["assignment"] is None'
expect 0 info blocks.mtx --format auto --policy mean-3std --json info.json
out_has '^storage +split .chosen. fp64,fp32'
json info.json 'j["storage"]["format"] == "split" and j["assignment"]["granularity"] == "row"'
expect 0 info blocks.mtx --format auto --arithmetic fp32 --max-padding 1 --json info.json
out_has '^storage +refused: format sell would store'
json info.json 'j["storage"]["format"] == "auto" and j["storage"]["granularity"] == "row"'

for solver in cg bicgstab gmres gmres-ir; do
    expect 0 solve spd.mtx --device cpu --solver $solver --format auto --json solve.json
    out_has '^method .* csr .chosen. fp(64|32)( .exact.)?, guard'
    json solve.json 'j["converged"] and j["format"] == "csr" and j["options"]["format"] == "csr" and j["options"]["format_chosen"]'
    expect 0 solve spd.mtx --device cpu --solver $solver --format auto --policy mean-3std --json solve.json
    json solve.json 'j["converged"] and j["format"] == "split" and j["options"]["granularity"] == "row" and j["policy"] == "mean-3std"'
done
json_format() { json "$1" "j['format'] == '$2' and j['options']['format'] == '$2' and j['options']['format_chosen']"; }
expect 0 solve spd.mtx --solver jacobi --format auto --json solve.json
json_format solve.json csr
expect 0 solve spd.mtx --solver jacobi --format auto --policy mean-range --json solve.json
json_format solve.json split
expect 0 solve spd.mtx --solver jacobi --format auto --steps fp32,mixed,fp64 --json solve.json
json_format solve.json composite
json solve.json 'j["policy"] == "mean-range"'
expect '0|1' solve spd.mtx --preset tezcan-jacobi --format auto --json solve.json
json_format solve.json composite
expect 0 timestep gallery:laplace2d:12 --device cpu --format auto --count 2 --json steps.json
out_has '^storage +csr .chosen.,'
json_format steps.json csr
expect 0 timestep gallery:laplace2d:12 --format auto --policy mean-range:2 --count 2 --json steps.json
json_format steps.json split
expect 0 timestep gallery:laplace2d:12 --format auto --steps mixed,fp64 --count 2 --json steps.json
json_format steps.json composite
expect 0 compare blocks.mtx --device cpu --repeat 1 --format auto --json compare.json
out_has '^format +chosen for the matrix$'
json compare.json 'j["format_chosen"] and {r["format"] for r in j["results"]} == {"csr"}'
json compare.json 'len(j["results"]) == len({r["matrix_precision"] for r in j["results"]}) >= 6'
expect 0 compare blocks.mtx --device cpu --repeat 1 --format auto --policy mean-3std --arithmetic fp32 --json compare.json
json compare.json '[r["format"] for r in j["results"]] == ["split"] and j["results"][0]["policy"] == "mean-3std"'
expect 0 compare blocks.mtx --device cpu --repeat 1 --format csr --json compare.json
json compare.json 'j["format_chosen"] is False'

# what belongs to a policy needs one, and what belongs to one precision none
for bad in "levels fp64,fp16" "granularity entry" "granularity block" "block 32x32" "share 50" "base ellr" "row-order permuted" \
    "allow-underflow"; do
    # shellcheck disable=SC2086
    expect 2 spmv blocks.mtx --format auto --$bad
    err_has "\(--${bad%% *}\) needs a policy .--policy. with format auto"
done
expect 2 spmv blocks.mtx --format auto --policy mean-3std --matrix-precision fp32
err_has 'precision fp32 is not used: with a policy, format auto has the precisions of --levels'
expect 2 spmv blocks.mtx --format auto --policy mean-3std --granularity matrix
err_has 'format auto has no granularity matrix; it takes row, entry or block'
expect 2 spmv blocks.mtx --format auto --kernel paper
err_has 'kernel paper .--kernel. needs a policy .--policy. with format auto'
expect 2 spmv blocks.mtx --format autos
err_has "did you mean 'auto'"

# pbp and tcki: the policy that is given counts, none as well, before or after
for format in pbp tcki; do
    for order in "--policy none --format $format" "--format $format --policy none"; do
        # shellcheck disable=SC2086
        expect 0 spmv blocks.mtx $order --json spmv.json
        json spmv.json '[j["options"][k] for k in ("policy", "granularity")] == ["none", "block"]'
    done
    expect 0 spmv blocks.mtx --format $format --json spmv.json
    json spmv.json '[j["options"][k] for k in ("policy", "granularity")] == ["mean-3std", "block"]'
done

# solver auto without --format: exact fp32 is tried on the way, and told; csr forbids it. No bit of x depends on that.
slow='gallery:laplace2d:200 --precond jacobi --rtol 1e-11 --device cpu --choices none --explain'
for format in "" "--format auto" "--format csr" "--precision fp64"; do
    # shellcheck disable=SC2086
    expect 0 solve $slow $format --json solve.json --output x.npy --force
    case $format in
    *csr | *fp64)
        ! grep -q 'values are exact' out && pass || fail "$format does not forbid the trial"
        json solve.json 'j["matrix_precision"] == "fp64" and not any("exact" in line for line in j["why"])'
        ;;
    *)
        out_has '^ +values are exact in fp32(: the matrix takes [0-9.]+ MB instead of|, but products take no less time)'
        json solve.json 'j["format"] == "csr" and (j["matrix_precision"] == "fp32") == (" MB instead" in str(j["why"]))'
        json solve.json '("--levels fp64,fp32" in j["by_hand"]) == (j["matrix_precision"] == "fp32")'
        ;;
    esac
    [ -n "$format" ] || cp x.npy first.npy
    cmp -s x.npy first.npy && pass || fail "x depends on $format"
done
