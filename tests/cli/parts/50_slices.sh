# SPDX-License-Identifier: Apache-2.0
# ELLPACK-R and SELL-C-sigma from the command line.
for format in ellr sell; do
    for precision in fp64 fp32 bf16 fp16 e4m3 e5m2; do
        expect 0 spmv gallery:laplace2d:21 --format $format --matrix-precision $precision --x random:3 --repeat 2 \
            --json spmv.json
        json spmv.json "j['format'] == '$format' and j['matrix_precision'] == '$precision'"
        json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and j["fp64_componentwise_error"] < 1e-14'
        expect 0 solve gallery:laplace2d:12 --format $format --matrix-precision $precision --rtol 1e-9 --json solve.json
        json solve.json "j['format'] == '$format' and j['converged'] and j['options']['sell_window'] == 256"
    done
done
expect 0 spmv gallery:laplace2d:21 --format sell --sell-window 1 --max-padding 1.5 --repeat 2 --json spmv.json
json spmv.json 'j["options"]["sell_window"] == 1 and j["options"]["max_padding"] == 1.5 and j["arithmetic"] == "fp64"'

# one long row: what pads it is refused with the ratio and a way out
{
    printf '%%%%MatrixMarket matrix coordinate real general\n400 400 799\n'
    awk 'BEGIN { for (j = 1; j <= 400; j++) { print 7, j, 1; if (j != 7) { print j, j, 2 } } }'
} >arrow.mtx
expect 3 spmv arrow.mtx --format ellr
err_has 'would store 200.3 entries per nonzero .160000 for 799., but max_padding is 3'
err_has 'sell or csr, or raise max_padding .--max-padding'
expect 3 solve arrow.mtx --format ellr
err_has 'max_padding'
expect 3 spmv arrow.mtx --format sell --sell-window 64
err_has '--sell-window'
expect 0 spmv arrow.mtx --format ellr --max-padding 201 --repeat 1
expect 0 spmv arrow.mtx --format sell --max-padding 100 --repeat 1
expect 0 info arrow.mtx --format ellr --json info.json
out_has '^storage +refused: .*max_padding'
json info.json 'j["storage"]["bytes"] is None and "max_padding" in j["storage"]["refused"]'
expect 0 info gallery:laplace2d:8 --format sell --matrix-precision fp16 --json info.json
out_has '^storage +sell fp16: '
# one slice of 64 rows, 5 wide: its place, lengths in a byte, columns and values in two
json info.json 'j["storage"]["bytes"] == 16 + 64 + 2 * 64 * 5 + 2 * 64 * 5'

# fp32 arithmetic takes fp32 vectors; 1 + 2^-24 is 1 there, and not in fp64
expect 0 spmv half_eps.mtx --format ellr --matrix-precision fp32 --output y.mtx
label='ellr: 1 + 2^-24 in fp64 arithmetic'
awk 'NR == 3 && $1 > 1.00000005 { good = 1 } END { exit !good }' y.mtx && pass || fail "$(cat y.mtx)"
expect 0 spmv half_eps.mtx --format ellr --matrix-precision fp32 --arithmetic fp32 --output y.mtx --json spmv.json
label='ellr: 1 + 2^-24 in fp32 arithmetic'
awk 'NR == 3 && $1 == 1 { good = 1 } END { exit !good }' y.mtx && pass || fail "$(cat y.mtx)"
json spmv.json 'j["arithmetic"] == "fp32" and j["vector_precision"] == "fp32" and j["componentwise_error"] <= j["componentwise_bound"]'
expect 2 spmv half_eps.mtx --arithmetic fp32
err_has 'format csr has no fp32 arithmetic'
expect 2 solve spd.mtx --format ellr --arithmetic fp32
err_has 'a solve cannot compute in fp32 arithmetic'
expect 2 compare spd.mtx --arithmetic fp32

expect 0 compare gallery:laplace2d:12 --device cpu --repeat 1 --format sell --matrix-precision e4m3 --json compare.json
json compare.json '[r["format"] + r["matrix_precision"] for r in j["results"]] == ["selle4m3"]'
expect 0 compare arrow.mtx --device cpu --repeat 1 --json compare.json
json compare.json 'all(r["format"] in ("csr", "bsr") for r in j["results"])'
expect 3 compare arrow.mtx --device cpu --format ellr --matrix-precision fp64

for bad in "max-padding 0.5" "max-padding nan" "sell-window 0" "sell-window 5000" "arithmetic fp16" "format elr"; do
    # shellcheck disable=SC2086
    expect 2 spmv spd.mtx --$bad
done
