# SPDX-License-Identifier: Apache-2.0
# Rows that the norm as given hides: which are named, and the command that "next" types; names of files in it.
vector() { printf '%%%%MatrixMarket matrix array real general\n%s 1\n' $#; printf '%s\n' "$@"; }
# rod PENALTY: its ends are held by so much
rod() {
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n5 5 9\n1 1 %s\n2 2 2\n3 3 2\n4 4 2\n5 5 %s\n' "$1" "$1"
    printf '2 1 -1\n3 2 -1\n4 3 -1\n5 4 -1\n'
}
rod 1e12 >rod.mtx
vector 1e12 0 0 0 3e12 >rod-b.mtx
# next_works: the command that "next" names meets the tolerance in both norms
next_works() {
    label="next: $(sed -n 's/^next  *//p' out)"
    next=$(sed -n 's/^next  *//p' out)
    bash -c "tessera() { \"$tool\" \"\$@\"; }; $next --device cpu" >out 2>err </dev/null
    [ $? -eq 0 ] && pass || fail "$(grep -h '^result' out; head -c 200 err)"
}

# The preconditioner, the scaling of the user, a second row that is worse than the first.
expect 1 solve rod.mtx --rhs rod-b.mtx --solver cg --precond jacobi --device cpu --json hidden.json
json hidden.json '"--solver cg --precond jacobi --scale symmetric --stop-norm both" in j["findings"]["next"]'
next_works
vector 1e12 -0.5 0 0 3e12 >uneven-b.mtx
expect 1 solve rod.mtx --rhs uneven-b.mtx --solver cg --device cpu --json hidden.json
json hidden.json 'j["findings"]["hidden_rows"] and j["findings"]["hidden_rows"]["row"] == 2'
expect 1 solve rod.mtx --rhs rod-b.mtx --solver lsmr --max-iterations 1 --device cpu --json hidden.json
json hidden.json '"--solver auto" in j["findings"]["next"]'
next_works
# Rows of nearly one size need no scaling.
rod 1000 >near.mtx
vector 1000 0 0 0 3000 >near-b.mtx
expect 1 solve near.mtx --rhs near-b.mtx --solver cg --rtol 2e-3 --device cpu --json hidden.json
out_has 'the row-scaled residual is [0-9e+]+ times its tolerance'
json hidden.json '"--stop-norm both" in j["findings"]["next"] and "--scale" not in j["findings"]["next"]'
next_works

# Names that begin with a dash, or hold what a terminal obeys, a quote, a backslash, or no UTF-8: the command runs.
for name in '-rod.mtx' "it's.mtx" $'del\x7f\\.mtx' $'next\xc2\x85line.mtx' $'latin\xe9.mtx' \
    $'caf\xc3\xa9.mtx' $'\xc2\xa9.mtx'; do
    cp rod.mtx "./$name"
    expect 1 solve --rhs rod-b.mtx --solver cg --device cpu -- "$name"
    LC_ALL=C grep -q $'[\x7f]\|\xc2\x85' out && fail "a control character is in the report" || pass
    next_works
done
expect 3 solve $'none\x7f\xc2\x85\xc2\xa9.mtx'
err_has '^tessera.*none\\x7f\\xc2\\x85'
label='a long name in an error is told whole'
long=$(printf 'n%.0s' $(seq 240))
expect 2 solve spd.mtx --rtol "$long$long$long"
[ "$(tr -cd n <err | wc -c)" -ge 720 ] && pass || fail "$(head -c 100 err)"
