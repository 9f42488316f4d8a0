# SPDX-License-Identifier: Apache-2.0
# Time steps from the command line: storages, comparison, snapshots, refusals.
expect 0 generate ventricle 2000 --output heart.mtx --initial heart0.mtx
expect 0 timestep heart.mtx --initial heart0.mtx --count 50 --compare --output heart50.mtx --json step.json
out_has '^diagonal +apart, in fp64; x0 = heart0.mtx'
out_has '^time steps +50 .mixed:50.'
json step.json 'j["command"] == "timestep" and j["count"] == 50 and j["finite"] and j["format"] == "composite"'
json step.json '0 < j["relative_difference"] < 1e-6 and j["fp64_seconds"] > 0 and j["speedup"] > 0'
json step.json 'j["options"]["policy"] == "mean-range" and j["options"]["policy_parameter"] == 2'
json step.json 'j["steps"][0]["what"] == "mixed" and j["bytes_moved"] == 50 * j["steps"][0]["bytes_per_step"]'
json step.json 'j["nonzeros_per_precision"]["fp32"] > 0 and j["setup_seconds"] > 0 and j["seconds_per_step"] > 0'
expect 0 timestep heart.mtx --initial heart0.mtx --count 50 --steps fp32,mixed,fp64 --compare --json step.json
json step.json '[s["count"] for s in j["steps"]] == [16, 16, 18] and 0 < j["relative_difference"] < 1e-5'
expect 0 timestep heart.mtx --initial heart0.mtx --count 50 --steps fp64 --compare --json step.json
json step.json 'j["relative_difference"] < 1e-13'
for format in csr ellr sell; do
    expect 0 timestep heart.mtx --initial heart0.mtx --count 50 --format $format --compare --json step.json
    out_has '^diagonal +in the matrix'
    json step.json 'j["relative_difference"] < 1e-13
        and j["steps"] == [{"what": "fp64", "count": 50, "bytes_per_step": j["steps"][0]["bytes_per_step"]}]'
done
expect 0 timestep heart.mtx --count 10 --format split --granularity entry --policy fixed-range:1e-5 --json step.json
json step.json 'j["format"] == "split" and j["initial"] == "ones" and j["relative_difference"] is None'
expect 0 timestep heart.mtx --count 10 --base ellr --steps mixed:3,fp64 --json -
err_empty

expect 0 timestep heart.mtx --steps mixed:7,fp32:5 --compare --json step.json
json step.json 'j["count"] == 12 and [s["count"] for s in j["steps"]] == [7, 5]'
expect 0 timestep heart.mtx --count 1 --format csr --matrix-precision bf16 --compare --initial heart0.mtx \
    --json step.json
json step.json '1e-6 < j["relative_difference"] < 2**-8 and j["nonzeros_per_precision"]["bf16"] == j["nnz"]'
out_has '^storage +csr, .*; nonzeros [0-9]+ in bf16$'
for contradiction in "mixed:7,fp32:5 --count 11" "mixed:7,fp32:5 --count 13" "mixed:7,fp32 --count 6"; do
    # shellcheck disable=SC2086
    expect 2 timestep heart.mtx --steps $contradiction
    err_has 'steps names .* time steps, but --count is'
done

# the last snapshot is the output; each is that of a shorter run
expect 0 timestep heart.mtx --initial heart0.mtx --count 50 --snapshots snap --every 25 --json step.json
json step.json 'j["snapshots"] == 2'
cmp -s snap00000050.mtx heart50.mtx && pass || fail "the snapshot is not the output"
expect 0 timestep heart.mtx --initial heart0.mtx --count 25 --output heart25.mtx
cmp -s snap00000025.mtx heart25.mtx && pass || fail "the snapshot is not that of a shorter run"
expect 0 timestep heart.mtx --count 3 --snapshots each
[ -e each00000003.mtx ] && [ -e each00000001.mtx ] && pass || fail "few steps have few snapshots"
expect 0 timestep heart.mtx --count 0 --initial heart0.mtx --output zero.mtx
cmp -s <(tail -n +3 zero.mtx | tail -n 1) <(tail -n 1 heart0.mtx) && pass || fail "no step changed x"

printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1e30\n1 2 1\n2 2 1e30\n' >grows.mtx
expect 5 timestep grows.mtx --count 50 --json step.json
out_has 'NaN OR INF'
json step.json 'not j["finite"]'
expect 2 timestep heart.mtx --every 5
expect 2 timestep heart.mtx --steps fp63
expect 2 timestep heart.mtx --count -1
expect 2 timestep heart.mtx --format sell --policy mean-range
expect 2 timestep
expect 3 timestep heart.mtx --initial missing.mtx
expect 2 timestep heart.mtx --format split --steps mixed,fp32
expect 3 timestep heart.mtx --snapshots no/such/place
expect 0 timestep --help
