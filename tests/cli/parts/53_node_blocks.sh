# SPDX-License-Identifier: Apache-2.0
# BSR from the command line.
for precision in fp64 fp32 bf16 fp16 e4m3 e5m2; do
    expect 0 spmv gallery:laplace2d:21 --format bsr --matrix-precision $precision --x random:3 --repeat 2 \
        --json spmv.json
    json spmv.json "j['format'] == 'bsr' and j['matrix_precision'] == '$precision'"
    json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and j["fp64_componentwise_error"] < 1e-14'
    expect 0 solve gallery:laplace2d:12 --format bsr --matrix-precision $precision --rtol 1e-9 --json solve.json
    json solve.json 'j["format"] == "bsr" and j["converged"]'
done
expect 0 spmv gallery:laplace2d:9 --format bsr --bsr-block-size 5 --max-padding 9 --repeat 1 --json spmv.json
json spmv.json 'j["options"]["bsr_block_size"] == 5 and j["componentwise_error"] <= j["componentwise_bound"]'
expect 0 solve gallery:elasticity3d:3 --solver gmres-ir --format bsr --matrix-precision fp32 --rtol 1e-9 \
    --json solve.json
json solve.json 'j["format"] == "bsr" and j["converged"]'
expect 0 info gallery:elasticity3d:3 --format bsr --policy lossless --json info.json
out_has '^storage +bsr fp64 in blocks of 3: '
json info.json 'j["storage"]["block_size"] == 3'
expect 0 info gallery:elasticity3d:3 --format csr --json info.json
json info.json 'j["storage"]["block_size"] is None'

# what is refused, and what would do
expect 3 spmv gallery:laplace2d:9 --format bsr --max-padding 1.2
err_has 'bsr would store more than max_padding, 1.2, entries per nonzero .by block size: 2: 2.79, 3: 2.71, '
err_has 'csr or sell, or raise max_padding .--max-padding'
expect 2 spmv spd.mtx --format bsr --bsr-block-size 7
expect 2 spmv spd.mtx --format csr --bsr-block-size 3
err_has 'bsr_block_size .--bsr-block-size. is for format bsr, not csr'
expect 2 solve spd.mtx --format split --base bsr
