# SPDX-License-Identifier: Apache-2.0
# Memory that ends: the k-th allocation of the tool fails, until the command succeeds. Each time the exit code
# and a message say so, and no file of the results is left half written.
if [ -z "${TESSERA_FAILING_MALLOC:-}" ]; then
    echo "SKIPPED: no library that lets allocations fail (builds with sanitizers have their own malloc)"
    return 0
fi

# fail_each LEAST COMMAND...: at least so many allocations are tried
fail_each() {
    local least=$1 k=0 code before=$failed
    shift
    while :; do
        rm -f result.json result.mtx
        label="tessera $* (allocation $k fails)"
        OMP_NUM_THREADS=1 TESSERA_FAIL_AT=$k LD_PRELOAD=$TESSERA_FAILING_MALLOC "$tool" "$@" >out 2>err </dev/null
        code=$?
        case $code in
        0)
            [ ! -s err ] && break # an allocation that the tool can do without, such as a format that compare tries
            ;;
        3 | 4)
            grep -Eq 'memory' err && pass || fail "exit $code: $(head -c 200 err)"
            ;;
        *) fail "exit $code: $(head -c 200 err)" ;;
        esac
        absent_leftovers
        k=$((k < 40 ? k + 1 : k + 7)) # the first allocations are the tool's own; most others are the library's
        [ "$k" -lt 2000 ] && [ "$failed" -lt $((before + 5)) ] || break
    done
    label="tessera $*"
    [ "$k" -ge "$least" ] && [ "$k" -lt 2000 ] && pass || fail "$k allocations were tried"
}
absent_leftovers() {
    local leftover
    for leftover in .tessera-*; do
        [ ! -e "$leftover" ] || fail "$leftover is left"
        rm -f "$leftover"
    done
}

fail_each 20 info spd.mtx --json result.json
fail_each 20 info spd.mtx --format split --policy mean-range --json result.json
fail_each 20 spmv spd.mtx --matrix-precision fp32 --x random:3 --json result.json --output result.mtx
fail_each 20 spmv spd.mtx --format split --policy fixed-range:2 --row-order permuted --json result.json
fail_each 20 solve spd.mtx --json result.json --output result.mtx --history history.csv --rhs a-times-ramp
fail_each 20 solve indefinite.mtx --choices none --json result.json
fail_each 20 solve spd.mtx --choices none --accuracy 1e-8 --json result.json --output result.mtx
fail_each 20 solve unsym.mtx -ksp_type gmres --rhs random:3 --json -
fail_each 20 compare spd.mtx --device cpu --repeat 1 --json result.json
fail_each 5 generate laplace2d 3 --output result.mtx --json result.json
fail_each 5 generate ventricle 1000 rcm 7 --output result.mtx --points points.mtx --initial initial.mtx
fail_each 5 convert spd.mtx result.mtx --json -
fail_each 5 convert spd.mtx result.petsc --json -
"$tool" convert spd.mtx spd.petsc >/dev/null && "$tool" convert b3.mtx b3.npy >/dev/null
"$tool" convert spd.mtx spd.npz >/dev/null 2>&1 && fail_each 5 convert spd.npz result.mtx
printf '%%%%MatrixMarket matrix array real general\n3 2\n0\n0\n0\n0\n0\n0\n' >zeros-two.mtx
fail_each 20 verify spd.mtx zeros3.mtx zeros-two.mtx --accuracy --json result.json
fail_each 20 solve spd.petsc --choices none --rhs b3.npy --output result.npy --json result.json --html result.html
fail_each 20 compare spd.mtx --device cpu --solvers cg --preconds jacobi --precisions fp64 --html result.html
fail_each 20 timestep spd.mtx --steps fp32:2,mixed:1 --compare --every 1 --json result.json --snapshots snapshot \
    --output result.mtx
