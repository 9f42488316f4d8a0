# SPDX-License-Identifier: Apache-2.0
# Tiles with kernel paper from the command line: formats of blocks, thresholds, what goes with what.
# 32 by 32, blocks of 16 by 16: (0, 0) has 2 entries, (0, 1) rows of 1 and 3 in turns, (1, 0) 2 in each row, (1, 1) one
# row of 16
awk 'BEGIN {
    print "%%MatrixMarket matrix coordinate real general"; print 32, 32, 82
    print 1, 1, 1; print 16, 16, 2
    for (i = 1; i <= 16; i++) {
        print i, 17, 1; if (i % 2 == 0) { print i, 20, 2; print i, 25, 3 }
        print 16 + i, 1, 4; print 16 + i, 9, 5
        print 32, 16 + i, 6
    }
}' >paper.mtx
expect 0 info paper.mtx --format tcki --kernel paper --json info.json
out_has '^blocks stored as +1 COO, 1 CSR, 1 ELL, 1 HYB$'
json info.json 'j["storage"]["block_formats"] == {"coo": 1, "csr": 1, "ell": 1, "hyb": 1}'
json info.json 'j["storage"]["kernel"] == "paper"'
json info.json '[j["storage"][k] for k in ("format", "policy", "granularity")] == ["tiles", "mean-3std", "block"]'
expect 0 info paper.mtx --format tiles --kernel paper --tcki-thresholds 0.5,1e-9,100 --json info.json
json info.json 'j["storage"]["tcki_thresholds"] == [0.5, 1e-9, 100]'
json info.json 'j["storage"]["block_formats"] == {"coo": 4, "csr": 0, "ell": 0, "hyb": 0}'
expect 0 info paper.mtx --format tiles --kernel paper --tcki-thresholds 0.001,0.6,0.7 --json info.json
json info.json 'j["storage"]["block_formats"] == {"coo": 0, "csr": 0, "ell": 2, "hyb": 2}'
expect 0 info paper.mtx --format tiles --json info.json
json info.json 'j["storage"]["block_formats"] is None and j["storage"]["tcki_thresholds"] is None'
json info.json 'j["storage"]["kernel"] == "default"'
for block in 16x16 16x32 32x16 32x32; do
    expect 0 spmv paper.mtx --format tcki --kernel paper --block $block --levels fp64,fp32,fp16:scaled --json spmv.json
    out_has '^blocks stored as +[0-9]+ COO, '
    json spmv.json 'j["componentwise_error"] <= j["componentwise_bound"] and j["options"]["kernel"] == "paper"'
    json spmv.json 'sum(j["block_formats"].values()) >= 1 and j["format"] == "tiles"'
done
expect 0 spmv gallery:rowscale:16:50 --format tcki --policy fixed-range:2 --json spmv.json
json spmv.json '[j["options"][k] for k in ("policy", "granularity", "kernel")] == ["fixed-range", "block", "default"]'
json spmv.json 'j["block_formats"] is None'
expect 0 solve spd.mtx --solver cg --format tcki --kernel paper --rtol 1e-10 --json tcki.json
json tcki.json 'j["converged"] and j["format"] == "tiles" and sum(j["nonzeros_per_precision"].values()) == 7'
expect 0 compare gallery:rowscale:16:50 --device cpu --repeat 1 --format tcki --kernel paper --json compare.json
json compare.json 'all(r["format"] == "tiles" for r in j["results"])'

for command in info spmv "solve --solver cg" compare; do
    for format in csr ellr sell dia composite; do
        # shellcheck disable=SC2086
        expect 2 $command paper.mtx --format $format --kernel paper
        err_has "kernel paper \(--kernel\) is for format split or tiles, not $format"
    done
    # shellcheck disable=SC2086
    expect 2 $command paper.mtx --kernel paper
    # shellcheck disable=SC2086
    expect 2 $command paper.mtx --format tiles --tcki-thresholds 0.02,0.2,0.9
    err_has 'tcki-thresholds needs --kernel paper'
done
for bad in 1 0.02,0.2 0.02,0.2,0.9,1 0.02,0.2,x 0,0.2,0.9 -1,0.2,0.9 0.02,nan,0.9 0.02,0.2,inf ,,; do
    expect 2 spmv paper.mtx --format tiles --kernel paper --tcki-thresholds="$bad"
    err_has 'three numbers above 0'
done
expect 2 spmv paper.mtx --format tiles --kernel paper --tcki-thresholds 0.02,0.9,0.2
err_has 'the second number is above the third'
expect 2 spmv paper.mtx --format tiles --kernel papers
expect 2 spmv paper.mtx --format tcki --granularity entry
err_has 'tcki, which is tiles by blocks'

# Of split the kernels of a GPU: on a host products are the library's.
expect 0 spmv gallery:rowscale:16:50 --format split --policy mean-range:0.1 --kernel paper --json spmv.json
json spmv.json '[j["options"][k] for k in ("kernel", "format")] == ["paper", "split"] and j["block_formats"] is None'
expect 0 spmv gallery:rowscale:16:50 --format pbp --kernel paper --json spmv.json
expect 2 spmv gallery:rowscale:16:50 --format split --policy mean-range:0.1 --kernel paper --base ellr
err_has 'kernel paper of format split multiplies parts in csr'
