# SPDX-License-Identifier: Apache-2.0
# The commands that a report prints: `by hand` solves the same system, `next` asks for the same.
# Without complete factors automatic solves and errors of x end elsewhere.
if "$tool" solve spd.mtx --precond lu --device cpu 2>&1 | grep -q 'needs MUMPS'; then return 0; fi
python3 - <<'PYTHON'
M = 12
N = M * M

def write(name, entry, b):
    with open(name + ".mtx", "w") as file:
        cells = []
        for row in range(N):
            i, j = divmod(row, M)
            near = [(i + k, j + l) for k, l in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))]
            columns = [k * M + l for k, l in near if 0 <= k < M and 0 <= l < M]
            cells += [f"{row + 1} {c + 1} {entry(row, c)!r}" for c in columns]
        print(f"%%MatrixMarket matrix coordinate real general\n{N} {N} {len(cells)}", *cells, sep="\n", file=file)
    with open(name + "-b.mtx", "w") as file:
        print(f"%%MatrixMarket matrix array real general\n{N} 1", *map(b, range(N)), sep="\n", file=file)

def laplace(row, column):
    return 4.0 if row == column else -1.0

def held(row):
    return row // M in (0, M - 1) or row % M in (0, M - 1)

def size(row):
    return 10.0 ** (5 * row % 13 - 6)

write("plain", laplace, lambda row: 1.0 + row % 5)
# values at the edge are held by a penalty; rows of different size; symmetric and not definite
write("penalty", lambda r, c: 1e6 if r == c and held(r) else laplace(r, c), lambda r: (1 + r % 7) * 1e6 * held(r))
write("sizes", lambda r, c: size(r) * (laplace(r, c) + 0.5 * (r > c) - 0.5 * (r < c)), lambda r: size(r) * (1 + r % 3))
write("shifted", lambda r, c: laplace(r, c) - 1.13 * (r == c), lambda r: 1.0 - r % 4)
# negative definite; a triangle with stored zeros; rows without a diagonal, none beside another
write("minus", lambda r, c: -laplace(r, c), lambda r: 1.0 - r % 4)
write("triangle", lambda r, c: laplace(r, c) if c <= r else 0.0, lambda r: 1.0 - r % 4)
write("saddle", lambda r, c: laplace(r, c) * (r != c or (r // M + r % M) % 3 != 0), lambda r: 1.0 - r % 4)
PYTHON

# ---- by hand ----

repeat_by_hand() { # NAME OPTIONS...
    local name=$1 code hand
    shift
    label="tessera solve $name.mtx $*, and by hand"
    "$tool" solve $name.mtx --rhs $name-b.mtx --device cpu --choices none --json asked.json "$@" >out 2>err </dev/null
    code=$?
    hand=$(sed -n 's/^by hand  *//p' out)
    if [ $code -gt 1 ] || [ -z "$hand" ]; then
        fail "exit $code, by hand '$hand': $(head -c 200 err)"
        return
    fi
    (tessera() { "$tool" "$@" --device cpu --json hand.json; }; eval "$hand") >out 2>err </dev/null
    [ $? -eq $code ] && pass || fail "not exit $code: $hand: $(grep -h '^result' out; head -c 200 err)"
    json asked.json "all(h[k] == j[k] for h in [__import__('json').load(open('hand.json'))]
        for k in ('verified', 'converged', 'stop_norm'))"
}
for name in plain penalty sizes shifted; do
    repeat_by_hand $name
    repeat_by_hand $name --stop-norm given
    repeat_by_hand $name --stop-norm rows --scale max-product
    repeat_by_hand $name --stop-norm both --rtol 1.2345678e-10
    repeat_by_hand $name --scale rows --reorder rcm
    repeat_by_hand $name --scale symmetric --system transformed
    repeat_by_hand $name --accuracy 1e-8
    repeat_by_hand $name --accuracy 1.234567e-6 --stop-norm rows --scale symmetric
    repeat_by_hand $name --accuracy backward:1e-12 --scale max-product
    repeat_by_hand $name --precond jacobi --stop-norm preconditioned
    repeat_by_hand $name --precond ilu0 --precision fp64 --divergence-tolerance 1e6
    repeat_by_hand $name --format sell --rtol 0 --atol 1e-3 --max-iterations 3000
done

# A line tells where attempts before the last moved x: none did, or only to the x that was given.
began_before() {
    "$tool" solve "$@" --rtol 1e-10 --device cpu --choices none 2>err | grep -A 1 '^by hand' | grep -q 'here it began'
}
began_with() { # yes|no OPTIONS...
    local expected=$1 found=no
    shift
    label="tessera solve $*"
    began_before "$@" && found=yes
    [ $found = $expected ] && pass || fail "the line that the x of attempts before was taken: $found"
}
for diagonal in 0.3 0.05; do # with the latter the first attempt finds nothing
    {
        printf '%%%%MatrixMarket matrix coordinate real general\n60 60 178\n'
        for row in $(seq 60); do
            echo "$row $row $diagonal"
            [ $row -eq 60 ] || echo "$row $((row + 1)) 1"
            [ $row -eq 1 ] || echo "$row $((row - 1)) -1"
        done
    } >turning-$diagonal.mtx
done
{ printf '%%%%MatrixMarket matrix array real general\n60 1\n'; seq 60; } >turning-x.mtx
began_with yes turning-0.3.mtx
began_with no turning-0.05.mtx
began_with yes turning-0.05.mtx --initial-guess turning-x.mtx
began_with no plain.mtx --rhs plain-b.mtx
began_with no turning-0.3.mtx --solver bicgstab

# Systems that are recognised.
why_is() { grep -Eq "^why +$1\$" asked.txt && pass || fail "why is not $1: $(grep '^why' asked.txt)"; }
while IFS='|' read -r name why method; do
    repeat_by_hand $name --rtol 1e-8
    repeat_by_hand $name --accuracy 1e-6
    expect 0 solve $name.mtx --rhs $name-b.mtx --device cpu --choices none
    cp out asked.txt
    why_is "$why"
    out_has "^by hand +tessera solve $name.mtx --solver $method "
done <<'SYSTEMS'
minus|the matrix is symmetric, all of its diagonal is negative, and dominates: treated as -A|cg --precond jacobi
triangle|the matrix is lower triangular: substitution solves|bicgstab --precond ilu0
saddle|the matrix is symmetric, with a zero block of 48 rows: a saddle point|minres --precond none
SYSTEMS

# Options of the caller's preconditioner and storage, and where x begins.
while read -r options; do
    repeat_by_hand plain $options
    label="by hand has $options"
    case " $(sed -n 's/^  "by_hand": //p' asked.json) " in *" $options "*) pass ;; *) fail "$options are lost" ;; esac
done <<'OPTIONS'
--precond ilu0 --triangular blocks --leaf 100
--precond ilu0 --factorization host
--precond block-jacobi:4 --precond-precision adaptive
--precond polynomial:4 --polynomial-form powers
--precond jacobi-sweeps:4 --precond-steps fp32:2,fp64 --precond-omega 0.7
--precond fsai:3 --inverse-row 12 --inverse-filter 0.1
--format split --policy mean-range:0.5 --levels fp64,fp16 --granularity entry --base ellr,sell
--format sell --matrix-precision fp32 --sell-window 32
--iterate last
OPTIONS
json asked.json 'j["by_hand"].endswith(" --device cpu")'
expect 0 solve plain.mtx --rhs plain-b.mtx --device cpu --choices none --checkpoint plain.ckpt
repeat_by_hand plain --rtol 1e-9 --resume plain.ckpt
json asked.json '"--resume plain.ckpt" in j["by_hand"]'

# ---- next ----

# The command is for this system, has these words, parses, and ends with this exit code.
keeps_in_next() { # CODE NAME "WORDS" OPTIONS...
    local code=$1 name=$2 words=$3 next
    shift 3
    expect '1|5' solve $name.mtx --rhs $name-b.mtx --device cpu --choices none "$@"
    next=$(sed -n 's/^next  *//p' out)
    label="next after tessera solve $name.mtx $*: '$next'"
    case "$next " in
    *"$words "*) pass ;;
    *) fail "it lacks '$words'" ;;
    esac
    case "$next" in
    "tessera solve $name.mtx "*"--rhs $name-b.mtx"*) pass ;;
    *) fail "it is of another system" ;;
    esac
    case "$next" in *--accuracy*--rtol* | *--rtol*--accuracy*) fail "it asks for a tolerance and an accuracy" ;; esac
    (tessera() { "$tool" "$@" --device cpu --choices none; }; eval "$next") >out 2>err </dev/null
    [ $? -eq $code ] && pass || fail "not exit $code: $(grep -h '^result' out; head -c 200 err)"
}
lacks() { ! grep -q -- "$1" out && pass || fail "stdout has /$1/: $(grep -m 1 -- "$1" out)"; }

keeps_in_next 0 penalty '--solver cg --stop-norm rows --rtol' --solver cg --stop-norm rows --rtol 1e-18
keeps_in_next 0 penalty '--stop-norm rows --rtol' --rtol 1e-18 --stop-norm rows
keeps_in_next 0 plain '--solver auto --scale symmetric --stop-norm rows --rtol 1.2345678e-12' \
    --solver cg --rtol 1.2345678e-12 --max-iterations 3 --scale symmetric --stop-norm rows
keeps_in_next 0 plain '--scale rows --stop-norm both --rtol 1e-12' --rtol 1e-12 --max-iterations 4 --scale rows
keeps_in_next 0 plain '--scale symmetric --system transformed' \
    --solver cg --max-iterations 3 --scale symmetric --system transformed
keeps_in_next 0 plain '--stop-norm both --rtol 0 --atol' --solver cg --rtol 0 --atol 1e-30 --stop-norm both
keeps_in_next 0 plain '--solver cg --accuracy' --solver cg --accuracy 1e-17
keeps_in_next 0 plain '--solver auto --accuracy 1e-10' \
    --solver cg --accuracy 1e-10 --max-iterations 5 --stop-norm both
keeps_in_next 0 plain '--accuracy backward:1e-12' --solver bicgstab --accuracy backward:1e-12 --max-iterations 5
keeps_in_next 0 plain '--scale symmetric --accuracy' --accuracy backward:1e-19 --scale symmetric
keeps_in_next 0 penalty '--accuracy 0.001' --solver cg --accuracy 1e-3 --max-iterations 2
keeps_in_next 0 shifted '--solver auto --precond jacobi --stop-norm preconditioned' \
    --solver cg --precond jacobi --stop-norm preconditioned
keeps_in_next 0 shifted '--iterate last' --solver cg --iterate last --rtol 1e-7
keeps_in_next 0 shifted '--precond none --precision fp64 --rtol' --rtol 1e-18 --precond none --precision fp64

# The first lines of the report that name a tolerance name the one that was given.
expect 1 solve plain.mtx --device cpu --choices none --accuracy 1e-10 --solver cg --guard report --max-iterations 5
lacks '^advice.*--rtol'
expect 1 solve plain.mtx --device cpu --solver cg --rtol 0 --atol 1e-30
out_has '^advice .*ask for a larger --atol$'

# A system without a solution: least squares know neither norms nor an accuracy, and a tolerance takes its place.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 2\n2 1 2\n2 2 4\n' >rank1.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1\n' >rank1-b.mtx
keeps_in_next 0 rank1 '--solver lsqr --precond jacobi --rtol 1e-08' --accuracy 1e-8 --stop-norm rows --scale rows

# ---- compare ----

# It judges as `solve` does, in the same words, and its command gives what the row has.
expect 0 compare penalty.mtx --rhs penalty-b.mtx --device cpu --solvers auto,cg,jacobi --preconds none \
    --precisions fp64 --max-iterations 20000 --json compare.json
json compare.json 'all(j["solves"]["rows"][0][key] for key in ("automatic", "verified", "converged"))'
json compare.json 'all(r["verified"] == (r["converged"] and norm["norm"] <= 100 * norm["tolerance"])
    for r in j["solves"]["rows"] for norm in [r["row_residual"]])'
json compare.json '[r["stop_norm"] for r in j["solves"]["rows"] if r["automatic"]] == ["both"]'
out_has '^cpu +auto: .* verified, [0-9.e+-]+, rows [0-9.e+-]+$'
out_has '^cpu +cg .* NOT VERIFIED: converged: .*, rows [0-9.e+-]+$'
fastest=$(sed -n 's/^fastest  *//p' out)
cp compare.json asked.json
python3 - >commands <<'PYTHON'
import json
for row in json.load(open("asked.json"))["solves"]["rows"]:
    code = 0 if row["verified"] else 1
    print(f"{row['command']} >out 2>err; [ $? -eq {code} ] || exit 9")
PYTHON
label="the commands of compare, the fastest of them $fastest"
if (tessera() { "$tool" "$@" --device cpu; }; . ./commands) </dev/null; then
    pass
else
    fail "$(grep '^result' out; head -c 200 err)"
fi
expect 0 compare plain.mtx --rhs plain-b.mtx --device cpu --solvers cg,bicgstab --preconds none --precisions fp64 \
    --max-iterations 3 --html compare.html
out_has '^cpu +cg .* NOT CONVERGED: iteration limit reached \(-3\)$'
grep -q 'NOT CONVERGED: iteration' compare.html && pass || fail 'the page lacks the word'

# ---- why ----

# Each line once, and none is empty, whether the method is named or not.
for options in "--solver cg" "--solver bicgstab --precond ilu0" "" "--scale symmetric"; do
    expect '0|1' solve plain.mtx --rhs plain-b.mtx --device cpu --choices none --explain --accuracy 1e-15 $options
    sed -n '/^why/,/^\(by hand\|time\) /p' out | sed 's/^why/   /; /^[bt]/d; s/^ *//' >lines
    if [ -s lines ] && [ -z "$(sort lines | uniq -d)" ] && ! grep -q '^$' lines; then pass; else fail "$(cat lines)"; fi
done
expect 0 solve plain.mtx --device cpu --choices none --accuracy 1e-12 --json solve.json
json solve.json 'len(set(j["why"])) == len(j["why"]) and "" not in j["why"]'

# A right-hand side below the range: the advice is to scale it, and no command leads back to this one.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 3\n' >small.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n5e-324\n1e-323\n' >small-b.mtx
for options in "" "--solver cg" "--solver cg --rtol 0 --atol 5e-324" "--accuracy 1e-8"; do
    expect 1 solve small.mtx --rhs small-b.mtx --device cpu --choices none $options
    out_has '^advice +b is too small for the range of FP64; multiply it by a power of two'
    lacks '^next'
done
