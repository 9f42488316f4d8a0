# SPDX-License-Identifier: Apache-2.0
# After a solve that failed: what is advised, by what happened, and that the command of "next" helps.
head='%%%%MatrixMarket matrix coordinate real general\n'
next_is() {
    grep -Eq "^next +tessera solve $1( --device cpu)?\$" out && pass || fail "next is not $1: $(grep '^next' out)"
}
next_helps() {
    next=$(sed -n 's/^next  *tessera //p' out)
    label="next: $next"
    [ -n "$next" ] && pass || fail "there is none"
    # shellcheck disable=SC2086
    expect 0 $next --device cpu --choices none
}
no_next() { ! grep -q '^next' out && pass || fail "$(grep '^next' out)"; }

# NaN in files of other kinds: its place, and no line of the file.
printf "${head}2 2 3\n1 1 2\n2 2 nan\n2 1 1\n" >nan-there.mtx
gzip -kf nan-there.mtx
for kind in petsc npz tess; do "$tool" convert nan-there.mtx nan-there.$kind >/dev/null; done
for file in nan-there.mtx.gz nan-there.petsc nan-there.npz nan-there.tess; do
    expect 5 solve $file --solver bicgstab --device cpu
    out_has '^findings +1 entry is NaN or Inf; the first: row 2, column 2$'
    ! grep -q 'it is in line' out && pass || fail "a line of $file"
    no_next
done
printf '%%%%MatrixMarket matrix array real general\n2 2\n1\nnan\n0\n1\n' >nan-array.mtx
expect 5 solve nan-array.mtx --solver bicgstab --device cpu
out_has '^findings +1 entry is NaN or Inf; the first: row 2, column 1$'
! grep -q 'it is in line' out && pass || fail "a line of a file without places"
expect 5 solve spd.mtx --rhs nan3.mtx --solver cg --device cpu --json advice.json
out_has '^findings +1 element of b is NaN or Inf; the first: row 2$'
json advice.json 'j["findings"]["nonfinite_rhs"]["row"] == 2 and j["findings"]["next"] is None'

# By reason.
printf "${head}2 2 4\n1 1 1\n1 2 3\n2 1 3\n2 2 1\n" >dominated.mtx
expect 1 solve dominated.mtx --solver jacobi --device cpu
out_has '^result .*\(divergence, -4\)$'
out_has '^advice +try another --solver, or a preconditioner \(--precond\)$'
next_helps
printf "${head}2 2 2\n1 2 1\n2 1 -1\n" >skew.mtx
expect 5 solve skew.mtx --solver bicgstab --rhs random --device cpu
out_has '^result .*\(breakdown, -5\)$'
out_has '^advice +try another --solver, such as gmres$'
next_helps
printf "${head}3 3 3\n1 1 1\n2 2 -1\n3 3 2\n" >negative.mtx
expect 5 solve negative.mtx --solver cg --precond ic0 --device cpu
out_has '^result .*\(indefinite_matrix, -10\)$'
out_has '^advice +use --solver bicgstab or gmres$'
next_helps
expect 1 solve spd.mtx --solver cg --rtol 1e-18 --guard report --device cpu
out_has '^advice +use --guard repair, a higher precision, or a larger --rtol$'
next_helps
# An automatic solve that was given too few iterations: a method that it has not tried; with a scaling, the list again.
expect 1 solve gallery:indefinite:20 --max-iterations 3 --device cpu --choices none
out_has '^advice +raise --max-iterations; --explain shows what was tried$'
expect 1 solve gallery:indefinite:20 --scale symmetric --max-iterations 3 --device cpu --choices none
next_is 'gallery:indefinite:20 --solver fgmres --precond lu --scale symmetric --stop-norm both'
next_helps
# Least squares go on with more iterations.
printf "${head}3 2 3\n1 1 1\n2 1 1\n3 2 1\n" >tall.mtx
expect 1 solve tall.mtx --rhs random --solver lsqr --max-iterations 1 --device cpu
next_is 'tall.mtx --solver lsmr --precond jacobi --rhs random:1 --max-iterations 10'
next_helps

# An error that is not reached: the least one that can be asked for, or factors that tell it; of none, no command.
expect 1 solve gallery:laplace2d:20 --solver cg --accuracy backward:1e-17 --device cpu --json advice.json
out_has '^accuracy +backward error 1.0e-17 wanted, NOT REACHED$'
out_has '^next .* --accuracy backward:[0-9]e-1[56] --device cpu$'
json advice.json 'j["accuracy"]["error"] == "backward" and not j["accuracy"]["reached"]'
expect 1 solve gallery:laplace2d:20 --solver cg --accuracy 1e-3 --max-iterations 2 --device cpu
out_has '^accuracy .* NOT KNOWN: this method tells nothing about the inverse$'
if "$tool" solve gallery:laplace2d:2 --solver gmres --precond lu >/dev/null 2>&1; then
    next_helps
    expect 0 solve gallery:laplace2d:20 --solver gmres --accuracy forward:1e-8 --device cpu
    expect 1 solve gallery:laplace2d:20 --solver gmres --accuracy 1e-17 --device cpu
    out_has '^accuracy .*, NOT REACHED$'
    out_has '^ +forward error about [0-9.e-]+; condition about .* of A, by complete factors$'
    next_helps
    expect 1 solve gallery:hilbert:16 --solver gmres --precond lu --accuracy 1e-3 --device cpu
    out_has '^accuracy .*NOT KNOWN: A is too nearly singular for factors in fp64$'
    no_next
fi
