# SPDX-License-Identifier: Apache-2.0
# ILU(0) and IC(0).

problem=gallery:laplace2d:40
for solver in cg bicgstab gmres gmres-ir gmres-fd; do
    for precond in ilu0 ic0; do
        expect 0 solve $problem --solver $solver --precond $precond --rtol 1e-10 --json solve.json
        out_has '^factors +79 level sets below the diagonal, 79 above'
        json solve.json 'j["converged"] and j["precond"] == "'$precond'" and j["precond_shift"] == 0'
        json solve.json 'j["triangle_levels"] == [79, 79] and j["iterations"] < 60'
    done
done
json solve.json 'j["options"]["triangular"] == "auto" and j["options"]["leaf"] == 4096'
json solve.json 'j["options"]["factorization"] == "auto" and j["factorization"] == "device"'
json solve.json 'j["options"]["precond_format"] == "csr" and j["options"]["precond_policy"] == "none"'
expect 0 solve $problem --precond jacobi --json solve.json
json solve.json 'j["factorization"] is None'
json solve.json 'j["triangle_levels"] is None and j["triangle_steps"] is None and j["precond_shift"] == 0'

# storage, blocks
for storage in fp64 fp32/fp64 bf16/fp64 fp16/fp64; do
    for triangular in levels blocks merged; do
        expect 0 solve $problem --solver cg --precond ic0 --precond-precision $storage --triangular $triangular \
            --rtol 1e-10 --json solve.json
        json solve.json 'j["options"]["precond_precision"].startswith("'${storage%/*}'") and j["iterations"] < 60'
    done
done
for where in host device; do
    expect 0 solve $problem --solver cg --precond ic0 --factorization $where --rtol 1e-10 --json solve.json
    json solve.json 'j["options"]["factorization"] == j["factorization"] == "'$where'" and j["iterations"] < 60'
done
expect 0 solve $problem --precond ilu0 --triangular blocks --leaf 200 --rtol 1e-10 --json solve.json
json solve.json 'j["options"]["leaf"] == 200 and sum(j["triangle_levels"]) > 158'
expect 0 solve $problem --precond ilu0 --triangular merged --rtol 1e-10 --json solve.json
out_has '^factors +79 level sets below the diagonal, 79 above, in [0-9]+ and [0-9]+ groups, in fp64$'
json solve.json 'j["triangle_levels"] == [79, 79] and max(j["triangle_steps"]) < 40'
expect 0 solve $problem --precond ilu0 --triangular levels --json solve.json
out_has '^factors +79 level sets below the diagonal, 79 above, in fp64$'
json solve.json 'j["triangle_steps"] == [79, 79]'
expect 0 solve $problem --solver cg --precond ic0 --triangular sweeps:2 --rtol 1e-10 --json solve.json
out_has '^factors +2 sweeps with each triangle, in fp64$'
json solve.json 'j["triangle_levels"] == [0, 0] and j["triangle_steps"] == [2, 2] and j["triangle_blocks"] is None'
json solve.json 'j["options"]["triangular"] == "sweeps:2" and j["iterations"] < 60'
expect 0 solve $problem --solver cg --precond ic0 --triangular sweeps --precond-policy mean-range --json solve.json
json solve.json 'j["options"]["triangular"] == "sweeps:3"'
expect 0 solve $problem --solver cg --precond ic0 --factorization sweeps:4 --rtol 1e-10 --json solve.json
json solve.json 'j["options"]["factorization"] == "sweeps:4" and j["iterations"] < 60'
json solve.json 'j["factorization"] == "sweeps"'
expect 0 solve $problem --solver cg --precond ic0 --triangular colors --rtol 1e-10 --json solve.json
out_has '^factors +2 level sets below the diagonal, 2 above, in an order by colors, in fp64$'
json solve.json 'j["triangle_levels"] == [2, 2] and j["options"]["triangular"] == "colors"'
expect 2 solve $problem --precond ic0 --triangular sweeps:101
err_has 'is out of range .1 to 100.'
expect 0 solve $problem --solver cg --precond ic0 --factorization sweeps:4 --precond-precision fp16/fp64 --device cpu \
    --json solve.json
out_has '^factors .*, in fp16; computed by 4 fixed-point sweeps$'
json solve.json 'j["factorization"] == "sweeps" and j["factor_precision"] == "fp16"'
for options in '--precond-policy mean-3std:100' '--precond-policy fixed-range --precond-levels fp64,fp32,fp16' \
    '--precond-policy lossless' '--precond-policy lossless:1e-3' '--precond-format auto' \
    '--precond-format auto --precond-policy mean-3std' '--precond-format tiles' \
    '--precond-format split --precond-policy mean-range' '--precond-format sell'; do
    # shellcheck disable=SC2086
    expect 0 solve $problem --precond ilu0 $options --triangular blocks --leaf 100 --rtol 1e-10 --json solve.json
    json solve.json 'j["iterations"] < 60'
done
expect 0 solve $problem --precond ilu0 --precond-policy fixed-range --json solve.json
json solve.json 'j["options"]["precond_format"] == "tiles" and j["options"]["precond_levels"] == "fp64,fp32"'
expect 0 solve spd.mtx -pc_type ilu --json solve.json
json solve.json 'j["precond"] == "ilu0"'
expect 0 solve spd.mtx -pc_type icc --json solve.json
json solve.json 'j["precond"] == "ic0"'

# shifts, and where none helps
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 3\n2 2 1\n3 3 2\n' >indefinite.mtx
expect 0 solve indefinite.mtx --solver gmres --precond ic0 --rtol 1e-10 --json solve.json
out_has 'diagonal shifted by 2.048 times itself'
json solve.json 'j["precond_shift"] == 2.048'
for precond in ilu0 ic0; do
    expect 5 solve no_diagonal.mtx --solver bicgstab --precond $precond --json solve.json
    json solve.json 'j["reason"] == "precond_setup" and "is missing" in j["detail"]'
done

# what does not go together
for precond in none jacobi polynomial; do
    for options in '--triangular blocks' '--leaf 100 --triangular blocks' '--precond-policy mean-range' \
        '--precond-format tiles' '--factorization host'; do
        # shellcheck disable=SC2086
        expect 2 solve spd.mtx --precond $precond $options
        err_has 'is for --precond ilu0, ic0, ilut, ict(, iluk or jacobi-sweeps| or iluk)'
    done
done
expect 2 solve spd.mtx --precond ilu0 --leaf 100
err_has 'leaf is for --triangular blocks'
for triangular in levels merged; do
    expect 2 solve spd.mtx --precond ilu0 --triangular $triangular --precond-policy mean-range
    err_has 'needs --triangular blocks, sweeps or auto'
done
expect 2 solve spd.mtx --precond ilu0 --precond-format sell --precond-policy mean-range
err_has 'precond-policy needs --precond-format auto, split, composite, tiles or packed, not sell'
expect 2 solve spd.mtx --precond ilu0 --precond-levels fp64,fp16
err_has 'precond-levels needs --precond-policy'
expect 2 solve spd.mtx --precond ilu0 --precond-precision fp32
err_has 'fp32/fp64'

# with fill
expect 0 solve $problem --solver cg --precond ic0 --rtol 1e-10 --json ic0.json
for precond in ict ict:1e-4 ict:1e-4:20; do
    expect 0 solve $problem --solver cg --precond $precond --rtol 1e-10 --json solve.json
    json solve.json 'j["factorization"] == "device" and j["factor_nonzeros"] > 6240 and j["iterations"] < 20'
    json solve.json 'len(j["triangle_levels"]) == 2'
done
json solve.json 'j["precond"] == "ict:0.0001:20"'
for precond in ilut iluk:2; do
    expect 0 solve unsym.mtx --precond $precond --rtol 1e-10 --precond-precision fp32/fp64 --triangular merged \
        --json solve.json
    json solve.json 'j["precond"].startswith("'$precond'") and j["factorization"] == "device"'
done
for precond in ilut ict iluk:2; do
    for options in '--factorization host' '--factorization device' '--factorization sweeps:8' \
        '--factorization sweeps --triangular sweeps' '--triangular colors'; do
        # shellcheck disable=SC2086
        expect 0 solve $problem --solver bicgstab --precond $precond $options --rtol 1e-10 --json solve.json
        json solve.json 'j["factor_nonzeros"] > 6240 and j["iterations"] < 60'
    done
done
expect 2 solve $problem --precond ilut:1e-3:x
err_has "is not a drop tolerance and a fill"
expect 2 solve $problem --precond iluk:x
err_has "is not a level of fill"

# how far the recursion of blocks went
expect 0 solve gallery:laplace2d:40 --solver cg --precond ic0 --triangular blocks --leaf 200 --json solve.json
out_has '^blocks +[0-9]+ leaves and [0-9]+ squares, which hold [0-9.]+ % of the off-diagonal nonzeros$'
json solve.json 'j["triangle_blocks"]["leaves"] > 4'
json solve.json 'j["triangle_blocks"]["squares"] == j["triangle_blocks"]["leaves"] - 2'
expect 0 solve gallery:laplace2d:40 --solver cg --precond ic0 --triangular blocks --json solve.json
json solve.json 'j["triangle_blocks"] is None'
