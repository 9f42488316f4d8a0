# SPDX-License-Identifier: Apache-2.0
# Significant digits: compare --digits.
# A diagonal of known digits in fp32. Below 2^-126 it has steps of u = 2^-149, so that (k + 0.4) u becomes k u, off by
# 0.4 / (k + 0.4): 2.9e-1, 3.8e-2, 4.0e-3, ..., 4.0e-7 for k = 1, 10, 100, ..., 10^6, which is 1, 2, 3, ..., 7 digits.
# 1 + 5.96e-8 becomes 1: 7 digits; 1/3 is off by 2.98e-8: 8; 1e-50 becomes 0: none; 1e39 becomes Inf: none, not finite.
python3 - >known.mtx <<'END'
u = 2.0 ** -149
values = [1, 1 / 3, 1 + 5.96e-8, 1e-50, 1e39] + [(10 ** k + 0.4) * u for k in range(7)]
print("%%MatrixMarket matrix coordinate real general")
print(len(values), len(values), len(values))
for i, value in enumerate(values, 1):
    print(i, i, repr(float(value)))
END
expect 0 compare known.mtx --device cpu --repeat 1 --x ones --digits --format csr --json digits.json
out_has '^significant digits of y, against the FP64 product of CSR on the host$'
out_has '^device +format +precision +0 +1 +2 +3 +4 +5 +6 +7 +ge8 +ratio +verdict$'
out_has '^cpu +csr +fp64 +0 +0 +0 +0 +0 +0 +0 +0 +12 +100.00 %  accurate$'
out_has '^cpu +csr +fp32 +2 +1 +1 +1 +1 +1 +1 +2 +2 +33.33 %  not accurate, 1 not finite$'
json digits.json 'j["results"][1]["matrix_precision"] == "fp32" and set(j["results"][1]["digits"]) == {"fp64"}'
json digits.json 'j["results"][1]["digits"]["fp64"]["elements"] == [2, 1, 1, 1, 1, 1, 1, 2, 2]'
json digits.json 'j["results"][1]["digits"]["fp64"]["not_finite"] == 1 and not j["results"][1]["digits"]["fp64"]["accurate"]'
json digits.json 'abs(j["results"][1]["digits"]["fp64"]["accuracy_ratio"] - 4 / 12) < 1e-15'
json digits.json 'j["results"][0]["digits"]["fp64"]["elements"] == [0] * 8 + [12] and j["results"][0]["digits"]["fp64"]["accurate"]'
json digits.json 'j["x_magnitude"] == 1 and all(r["arithmetic"] == "fp64" for r in j["results"])'

# whatever is chosen, CSR all in fp32 stands below it
expect 0 compare known.mtx --device cpu --repeat 1 --x ones --digits --format ellr --matrix-precision fp64 --json digits.json
out_has '^cpu +csr +fp32/fp32 +2 +1 +1 +1 +1 +1 +1 +2 +2 +33.33 %  not accurate, 1 not finite$'
json digits.json '[r["format"] + r["vector_precision"] for r in j["results"]] == ["ellrfp64", "csrfp32"]'
json digits.json 'j["results"][1]["digits"]["fp64"]["elements"] == [2, 1, 1, 1, 1, 1, 1, 2, 2]'

# integers that every precision holds are exact, zeros among them
expect 0 compare gallery:laplace2d:12 --device cpu --repeat 1 --x ones --digits --reference both --policy mean-range --json digits.json
json digits.json 'len(j["results"]) == 5 * sum(r["format"] == "ellr" for r in j["results"]) + 5 >= 35'
json digits.json 'all(set(r["digits"]) == {"fp64", "extended"} for r in j["results"])'
json digits.json 'all(d["elements"] == [0] * 8 + [144] and d["accuracy_ratio"] == 1 for r in j["results"] for d in r["digits"].values())'

# x in powers of two: the same digits; any other magnitude: as many elements
expect 0 compare gallery:randomdiffusion2d:20 --device cpu --repeat 1 --digits --format csr --matrix-precision fp32 --json one.json
for magnitude in 0.0009765625 1024 1152921504606846976; do
    expect 0 compare gallery:randomdiffusion2d:20 --device cpu --repeat 1 --digits --format csr --matrix-precision fp32 \
        --x-magnitude $magnitude --json digits.json
    out_has '^x +random:1 times '
    json digits.json "j['x_magnitude'] == $magnitude"
    label="digits of x times $magnitude"
    python3 - <<'END' && pass || fail "$(cat one.json digits.json)"
import json
one, other = ([r["digits"] for r in json.load(open(name))["results"]] for name in ("one.json", "digits.json"))
assert one == other and len(one) == 2 and one[1]["fp64"]["elements"][8] < 400
END
done
for magnitude in 10 100; do
    expect 0 compare gallery:randomdiffusion2d:20 --device cpu --repeat 1 --digits --format csr --matrix-precision fp32 \
        --x uniform:3 --x-magnitude $magnitude --json digits.json
    json digits.json 'j["x"] == "uniform:3" and all(sum(r["digits"]["fp64"]["elements"]) == 400 for r in j["results"])'
done
# magnitudes reach the product: 1e300 is Inf in fp32, and 1e39 times it in fp64 too
expect 0 compare known.mtx --device cpu --repeat 1 --x ones --x-magnitude 1e300 --digits --format csr --json digits.json
json digits.json 'j["results"][-1]["vector_precision"] == "fp32" and j["results"][-1]["digits"]["fp64"]["not_finite"] == 11'
json digits.json 'j["results"][-1]["digits"]["fp64"]["elements"] == [11] + [0] * 7 + [1]'

# (1 + 2^-30)^2 - (1 + 2^-29) is 2^-60, and 0 in fp64
printf '%s general\n1 2 2\n1 1 1.000000000931322574615478515625\n1 2 -1.00000000186264514923095703125\n' "$real" >cancels.mtx
printf '%s\n2 1\n1.000000000931322574615478515625\n1\n' "$array" >cancels_x.mtx
expect 0 compare cancels.mtx --x cancels_x.mtx --device cpu --repeat 1 --format csr --matrix-precision fp64 --digits \
    --reference both --json digits.json
out_has '^significant digits of y, against the product in extended precision$'
json digits.json 'j["results"][0]["digits"]["fp64"]["elements"][8] == 1 and j["results"][0]["digits"]["extended"]["elements"][0] == 1'
json digits.json 'j["results"][0]["digits"]["extended"]["not_finite"] == 0'
expect 0 compare cancels.mtx --x cancels_x.mtx --device cpu --repeat 1 --format csr --digits --reference extended --json digits.json
json digits.json 'set(j["results"][0]["digits"]) == {"extended"}'

# parts by precision, with products of low values in fp64 and in fp32
expect 0 compare gallery:rowscale:16:50 --device cpu --repeat 1 --digits --format split --policy mean-range --json digits.json
json digits.json 'sum(j["results"][0]["digits"]["fp64"]["elements"]) == 4096 and j["results"][0]["arithmetic"] == "fp64"'
expect 0 compare gallery:rowscale:16:50 --device cpu --repeat 1 --digits --format split --policy mean-range --arithmetic fp32 \
    --json low.json
out_has '^arithmetic +products of low values in fp32'
json low.json 'j["results"][0]["arithmetic"] == "fp32" and j["results"][1]["arithmetic"] == "fp64"'
label='split in fp32 arithmetic against split in fp64 and CSR in fp32'
python3 - <<'END' && pass || fail "$(cat digits.json low.json)"
import json
def ge8(name, row):
    return json.load(open(name))["results"][row]["digits"]["fp64"]["elements"][8]
assert ge8("digits.json", 0) > ge8("low.json", 0) > ge8("low.json", 1)
END

# without --digits nothing of it
expect 0 compare spd.mtx --device cpu --repeat 1 --json digits.json
json digits.json 'len(j["results"]) == 5 * sum(r["format"] == "ellr" for r in j["results"]) >= 30'
json digits.json 'all(r["digits"] is None for r in j["results"])'
if grep -q 'significant' out; then fail 'digits that nobody asked for'; else pass; fi

# x in (0, 1), and in (-1, 1)
expect 0 spmv gallery:laplace2d:30 --x uniform:3 --repeat 1 --json spmv.json
json spmv.json 'j["x"] == "uniform:3"'
expect 0 spmv gallery:laplace2d:30 --x uniform --seed 4 --repeat 1 --json spmv.json
json spmv.json 'j["x"] == "uniform:4"'
python3 - >unit.mtx <<'END'
print("%%MatrixMarket matrix coordinate real general\n200 200 200")
for i in range(1, 201):
    print(i, i, 1)
END
for x in uniform random; do
    expect 0 spmv unit.mtx --x $x:3 --repeat 1 --output y.mtx
    label="range of --x $x:3"
    low=0
    [ $x = uniform ] || low=-1
    awk -v low=$low 'NR > 2 { n++; if ($1 <= low || $1 >= 1) { bad = 1 }
        if ($1 < low + 0.1 * (1 - low)) { small = 1 } if ($1 > 0.9) { large = 1 } }
        END { exit !(n == 200 && small && large && !bad) }' y.mtx && pass || fail "$(head -n 5 y.mtx)"
done

expect 2 compare spd.mtx --reference fp64
err_has '--reference needs --digits'
expect 2 compare spd.mtx --digits --reference fp32
err_has "unknown value 'fp32'.*did you mean 'fp64'"
expect 2 compare spd.mtx --digits=7
for bad in 0 -1 nan inf -inf x ''; do
    expect 2 compare spd.mtx "--x-magnitude=$bad"
    err_has '--x-magnitude: .*(out of range|not a number)'
done
expect 2 compare spd.mtx --x uniform:x
err_has "--x: 'x' is not a seed"
expect 2 compare spd.mtx --x uniform:-1
expect 3 compare spd.mtx --x uniformly
expect 2 compare spd.mtx --format csr --arithmetic fp32
err_has '--arithmetic fp32 only with --format split or composite'
expect 2 spmv spd.mtx --digits
err_has "unknown option '--digits'"
