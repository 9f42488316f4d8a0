# SPDX-License-Identifier: Apache-2.0
# DIA from the command line.
for precision in fp64 fp32 bf16 fp16 e4m3 e5m2; do
    expect 0 spmv gallery:laplace2d:21 --format dia --matrix-precision $precision --x random:3 --repeat 2 \
        --json spmv.json
    json spmv.json "j['format'] == 'dia' and j['matrix_precision'] == '$precision'"
    json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and j["fp64_componentwise_error"] < 1e-14'
    expect 0 solve gallery:laplace2d:12 --format dia --matrix-precision $precision --rtol 1e-9 --json solve.json
    json solve.json 'j["format"] == "dia" and j["converged"]'
done
expect 0 solve gallery:laplace2d:12 --solver gmres-ir --format dia --matrix-precision fp32 --rtol 1e-9 --json solve.json
json solve.json 'j["format"] == "dia" and j["converged"]'

# one long row makes a diagonal of each of its entries
{
    printf '%%%%MatrixMarket matrix coordinate real general\n400 400 799\n'
    awk 'BEGIN { for (j = 1; j <= 400; j++) { print 7, j, 1; if (j != 7) { print j, j, 2 } } }'
} >arrow.mtx
expect 3 spmv arrow.mtx --format dia
err_has 'would store 400 diagonals, or 200.3 entries per nonzero .160000 for 799., but max_padding is 3'
err_has 'csr, ellr or sell, or raise max_padding .--max-padding'
expect 0 spmv arrow.mtx --format dia --max-padding 201 --repeat 1
expect 0 info arrow.mtx --format dia --json info.json
out_has '^storage +refused: .*400 diagonals'
# five diagonals of 64 rows, two of them with holes
expect 0 info gallery:laplace2d:8 --format dia --matrix-precision fp16 --json info.json
out_has '^storage +dia fp16: '
json info.json 'j["storage"]["bytes"] == 5 * 8 + 2 * 2 * 4 + 5 * 64 * 2'

# fp32 arithmetic takes fp32 vectors; 1 + 2^-24 is 1 there, and not in fp64
expect 0 spmv half_eps.mtx --format dia --matrix-precision fp32 --arithmetic fp32 --output y.mtx --json spmv.json
label='dia: 1 + 2^-24 in fp32 arithmetic'
awk 'NR == 3 && $1 == 1 { good = 1 } END { exit !good }' y.mtx && pass || fail "$(cat y.mtx)"
json spmv.json 'j["arithmetic"] == "fp32" and j["componentwise_error"] <= j["componentwise_bound"]'
expect 2 solve spd.mtx --format dia --arithmetic fp32
expect 2 solve spd.mtx --solver jacobi --format dia
expect 2 solve spd.mtx --format split --base dia
err_has 'in format dia .--base., which needs granularity entry or block'

expect 0 compare gallery:laplace2d:12 --device cpu --repeat 1 --format dia --matrix-precision e4m3 --json compare.json
json compare.json '[r["format"] + r["matrix_precision"] for r in j["results"]] == ["diae4m3"]'
expect 0 timestep gallery:laplace2d:8 --format dia --count 3

# Sums in pairs of FP32 numbers.
expect 0 spmv gallery:laplace2d:20 --format dia --arithmetic fp32x2 --device cpu --json pairs.json
out_has '^arithmetic +sums of rows in pairs of fp32 numbers'
json pairs.json 'j["arithmetic"] == "fp32x2" and j["componentwise_error"] <= j["componentwise_bound"] < 1e-11'
expect 0 spmv gallery:laplace2d:20 --policy lossless --format auto --arithmetic fp32x2 --device cpu
out_has '^storage +csr'
expect 0 solve gallery:laplace2d:20 --solver cg --format csr --arithmetic fp32x2 --rtol 1e-10 --device cpu
out_has 'csr fp64, sums fp32x2'
expect 2 compare gallery:laplace2d:20 --arithmetic fp32x2 --device cpu
err_has 'compare does not take --arithmetic fp32x2'
expect 2 timestep gallery:laplace2d:20 --arithmetic fp32x2 --count 5 --device cpu
err_has 'has no fp32x2 arithmetic'
expect 2 solve gallery:laplace2d:20 --solver jacobi --arithmetic fp32x2 --device cpu
err_has 'a sweep cannot compute in fp32x2 arithmetic'
expect 2 solve gallery:laplace2d:20 --solver cg --format sell --arithmetic fp32x2 --device cpu
err_has 'format sell has no fp32x2 arithmetic'
