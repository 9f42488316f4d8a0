# SPDX-License-Identifier: Apache-2.0
# Tiles in layout resident from the command line: what is stored, products, solves, what goes with what.
for levels in fp64 fp64,fp32 fp64,fp32,fp16,fp8; do
    expect 0 spmv gallery:laplace2d:30:31 --format tiles --layout resident --policy lossless --levels $levels --json spmv.json
    json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and j["options"]["layout"] == "resident"'
done
expect 0 info gallery:laplace2d:30:31 --format tiles --layout resident --policy lossless --json info.json
json info.json '[j["storage"][k] for k in ("format", "policy", "granularity", "layout", "kernel")] == ["tiles", "lossless", "block", "resident", "default"]'
expect 0 info gallery:laplace2d:30:31 --format tiles --json info.json
json info.json 'j["storage"]["layout"] == "grouped"'
expect 0 solve spd.mtx --solver cg --format tiles --layout resident --policy lossless --rtol 1e-10 --json resident.json
json resident.json 'j["converged"] and j["format"] == "tiles" and j["options"]["layout"] == "resident"'
expect 0 solve spd.mtx --solver bicgstab --format auto --layout resident --policy lossless --rtol 1e-10 --json resident.json
json resident.json 'j["converged"] and j["format"] == "tiles"'
for command in info spmv "solve --solver cg"; do
    for format in csr ellr sell dia split composite pbp; do
        # shellcheck disable=SC2086
        expect 2 $command spd.mtx --format $format --layout resident
        err_has "layout resident \(--layout\) is for format tiles, not ${format/pbp/split}"
    done
done
expect 2 spmv spd.mtx --format tiles --layout resident --kernel paper
err_has 'kernel paper cannot use layout resident'
expect 2 spmv spd.mtx --format tiles --layout resident --block 16x32
err_has 'use --block 16x16'
expect 2 spmv spd.mtx --format tcki --layout resident
err_has 'tcki, which is tiles with layout grouped'
expect 2 spmv spd.mtx --format tiles --layout residents
