# SPDX-License-Identifier: Apache-2.0
# compare: solvers, preconditioners and precisions by time.
nos3=$TESS_DATA_DIR/nos3.mtx.gz
sherman=$TESS_DATA_DIR/sherman4.mtx.gz
# an expression over the rows R of the solves
rows() { json compare.json "(lambda R: $1)(j['solves']['rows'])"; }

# The lists that were given, each with each; the fastest verified one first.
expect 0 compare "$nos3" --device cpu --solvers auto,cg,minres --preconds none,ic0 --precisions fp64,fp32 --rtol 1e-8 \
    --json compare.json
rows 'len(R) == 9 and all(r["verified"] for r in R)'
json compare.json 'j["results"] == []'
rows 'sorted((r["solver"], r["precond"], r["precision"]) for r in R if not r["automatic"]) ==
    sorted((s, m, p) for s in ("cg", "minres") for m in ("none", "ic0") for p in ("fp64", "fp32"))'
rows '(lambda t: t == sorted(t))([r["seconds"] for r in R])'
rows 'all(r["relative_residual"] <= 1e-8 and r["seconds"] >= r["solve_seconds"] for r in R)'
rows '[(r["matrix_precision"], r["precond_precision"], r["vector_precision"])
    for r in R if (r["solver"], r["precond"], r["precision"]) == ("cg", "ic0", "fp32")] == [("fp32", "fp32", "fp64")]'
rows 'sum(r["automatic"] and r["precision"] == "auto" for r in R) == 1'
out_has '^fastest +tessera solve '
out_has '^cpu +minres +ic0 +fp32/fp32/fp64 .* verified, '
out_has '^cpu +auto: '

# The command of a row repeats it.
expect 0 compare "$sherman" --device cpu --solvers gmres --preconds ilu0 --precisions fp32 --rtol 1e-9 \
    --rhs random:4 --json compare.json
rows '[r["vector_precision"] for r in R] == ["fp32"]'
command=$(sed -n 's/^fastest  *tessera //p' out)
# shellcheck disable=SC2086
expect 0 $command --device cpu --json repeat.json
json repeat.json 'j["options"]["rhs"] == "random:4"'
json repeat.json 'j["solver"] == "gmres" and j["inner_precision"] == "fp32/fp32" and j["precond"] == "ilu0"'
cp repeat.json both.json
json compare.json "j['solves']['rows'][0]['iterations'] == __import__('json').load(open('both.json'))['iterations']"

# Without lists it tries what info names.
expect 0 info "$sherman" --json info.json
expect 0 compare "$sherman" --device cpu --precisions fp64 --json compare.json
rows 'sum(r["automatic"] for r in R) == 1'
rows '{(r["solver"], r["precond"].split(":")[0]) for r in R if not r["automatic"]} == {(a["solver"], a["precond"])
    for a in __import__("json").load(open("info.json"))["recommendation"]["attempts"]}'
expect 0 compare "$sherman" --device cpu --precisions fp64 --solvers bicgstab --json compare.json
rows '{r["solver"] for r in R} == {"bicgstab"} and {"none", "jacobi", "ilu0"} <= {r["precond"] for r in R}'
expect 0 compare "$sherman" --device cpu --precisions fp64 --preconds ilu0 --json compare.json
rows '{"bicgstab", "gmres", "idr"} <= {r["solver"] for r in R if not r["automatic"]}'
rows '{r["precond"] for r in R if not r["automatic"]} == {"ilu0"}'
expect 0 compare indefinite.mtx --precisions fp64 --json compare.json
rows '("minres", "none") in {(r["solver"], r["precond"]) for r in R}'
rows 'len(R) > 0'
expect 0 compare spd.mtx --device cpu --json compare.json
rows 'R[0]["verified"] and len(j["results"]) > 10'
out_has '^products y = A x'
expect 0 compare spd.mtx --device cpu --repeat 2 --json compare.json
json compare.json 'j["solves"] is None and len(j["results"]) > 10'
expect 0 compare wide.mtx --budget 5 --json compare.json
rows '{r["solver"] for r in R} == {"lsqr", "lsmr"}'

# A slow one is stopped, and said so; one that cannot be set up has its reason; both come last.
expect 0 compare gallery:laplace2d:400 --device cpu --solvers cg --preconds none --precisions fp64 --rtol 1e-12 \
    --budget 0.05 --json compare.json
rows '[(r["stopped"], r["verified"], r["reason"]) for r in R] == [(True, False, "time_limit")]'
rows 'R[0]["seconds"] < 5'
out_has 'stopped at the budget of 0.05 s'
out_has '^fastest +none is verified'
expect 0 compare unsym.mtx --solvers cg,bicgstab --preconds jacobi,cholesky --precisions fp64,e4m3 --json compare.json
rows '(lambda v: v == sorted(v, reverse=True) and 0 < sum(v) < len(v))([r["verified"] for r in R])'
rows 'all(r["outcome"] for r in R)'
rows 'any(r["reason"] == "nonsymmetric" for r in R)'

# Each name once; with idr its S; beside a solver that is named, preconditioner auto is none.
expect 0 compare spd.mtx --device cpu --solvers cg,idr:2,cg,idr,idr:4 --preconds none,auto,none --precisions fp64,fp64 \
    --json compare.json
rows 'sorted((r["solver"], r["precond"]) for r in R) == [("cg", "none"), ("idr", "none"), ("idr:2", "none")]'
rows 'all("--solver %s " % r["solver"] in r["command"] for r in R)'
json compare.json 'j["solves"]["left_out"] == []'
! grep -q '^left out' out && pass || fail "$(grep '^left out' out)"

# What does not fit is left out, with solve'"'"'s words; where nothing is left, it is an error.
expect 0 compare spd.mtx --device cpu --solvers lsqr,cg,jacobi --preconds ic0,block-jacobi:2,jacobi --precisions fp64 \
    --json compare.json --html left-out.html
lsqr='--solver lsqr takes no preconditioner but jacobi, which scales columns'
jacobi='--solver jacobi takes no preconditioner; leave out --precond'
out_has "^left out +lsqr with ic0, block-jacobi:2: $lsqr\$"
out_has "^left out +jacobi with ic0, block-jacobi:2, jacobi: $jacobi\$"
grep -q "Left out: lsqr with ic0, block-jacobi:2: $lsqr" left-out.html && pass || fail "the page lacks it"
json compare.json "[(p['solver'], p['precond'], p['reason']) for p in j['solves']['left_out']] ==
    [('lsqr', m, '$lsqr') for m in ('ic0', 'block-jacobi:2')] +
    [('jacobi', m, '$jacobi') for m in ('ic0', 'block-jacobi:2', 'jacobi')]"
rows 'len(R) == 4'
expect 2 compare no-such-matrix.mtx --solvers lsqr,jacobi --preconds ilu0,ic0
err_has '^tessera compare: no solver of --solvers takes a preconditioner of --preconds:$'
err_has "^  lsqr with ilu0, ic0: $lsqr\$"
err_has "^  jacobi with ilu0, ic0: $jacobi\$"
# So is what does not fit the matrix, or a precision of the list.
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 2\n2 2 3\n3 1 4\n3 2 1\n' >rect.mtx
square='a solver needs a square matrix, but this one is 3 by 2'
expect 2 compare rect.mtx --device cpu --solvers cg,bicgstab
err_has '^tessera compare: the matrix fits no solver with a preconditioner that is listed:$'
err_has "^  cg with none, jacobi: $square\$"
err_has "^  bicgstab with none, jacobi: $square\$"
expect 0 compare rect.mtx --device cpu --solvers cg,lsqr --precisions fp64 --json compare.json
out_has "^left out +cg with none, jacobi: $square\$"
rows 'sorted((r["solver"], r["precond"], r["verified"]) for r in R) ==
    [("lsqr", "jacobi", True), ("lsqr", "none", True)]'
ilu='--precond-precision of --precond ilu0 is fp64, fp32/fp64, bf16/fp64 or fp16/fp64, not e4m3/fp64'
expect 2 compare no-such-matrix.mtx --solvers cg --preconds ilu0 --precisions e4m3
err_has "^  cg with ilu0: $ilu\$"
expect 2 compare spd.mtx --device cpu --preconds lu --solvers gmres --precisions bf16
err_has '^  gmres with lu: --precond-precision of --precond lu is fp32 or fp64, not bf16/fp32$'
expect 0 compare spd.mtx --device cpu --solvers cg --preconds ilu0,jacobi-sweeps --precisions fp64,e4m3 \
    --json compare.json
out_has "^left out +cg with ilu0: $ilu\$"
rows 'sorted(r["precond"] for r in R) == ["ilu0"] + 2 * ["jacobi-sweeps:3"] and all(r["outcome"] for r in R)'
! grep -q ' refused: ' out && pass || fail "$(grep ' refused: ' out)"
expect 0 compare spd.mtx --device cpu --precisions e4m3 --max-iterations 50 --json compare.json
! grep -q ' refused: ' out && pass || fail "$(grep ' refused: ' out)"
out_has '^left out +cg with '
expect 0 compare gallery:laplace2d:20 --device cpu --solvers gmres,gmres-fd,cg --preconds amg --precisions fp64,fp32
! grep -q ' refused: ' out && pass || fail "$(grep ' refused: ' out)"
expect 0 compare spd.mtx --device cpu --solvers auto,lsqr --preconds ic0 --json compare.json
rows '[r["automatic"] for r in R] == [True]'
if "$tool" solve gallery:laplace2d:2 --solver gmres --precond lu >/dev/null 2>&1; then
    expect 0 compare gallery:laplace1d:340000 --device cpu --solvers jacobi --precisions fp64 --budget 0.001
    out_has "^left out +jacobi with .*lu.*: nothing can stop the analysis of so large a factorization; list it"
fi

# Options of preconditioners go to the kinds that they are for.
expect 0 compare gallery:laplace2d:40 --device cpu --solvers cg,fgmres --preconds amg,ic0,jacobi --precisions fp64 \
    --amg-cycle k --amg-smoother jacobi --triangular sweeps:2 --json compare.json
out_has '^left out +cg with amg: --amg-cycle k needs --solver fgmres'
rows 'len(R) == 5 and all(r["verified"] for r in R)'
expect 0 compare gallery:laplace2d:40 --device cpu --solvers cg --preconds ic0 --precisions fp64 --triangular sweeps:2
out_has '^fastest +tessera solve gallery:laplace2d:40 --solver cg --precond ic0 --triangular sweeps:2 --rtol 1e-05$'
out_has '^cpu +cg +ic0 +fp64/fp64/fp64'
for preconds in '' '--preconds ic0,jacobi'; do
    # shellcheck disable=SC2086
    expect 2 compare spd.mtx $preconds --amg-degree 3
    err_has '^tessera compare: --amg-degree is for --precond amg or saddle; name it in --preconds$'
done

# Limits as of solve.
expect 0 compare spd.mtx --device cpu --solvers cg --preconds none --rtol 1.5 --max-iterations 3
for bad in 'rtol=-1' 'rtol nan' 'max-iterations=-1' 'max-iterations 1.5'; do
    # shellcheck disable=SC2086
    expect 2 compare spd.mtx --solvers cg --$bad
    sed 's/tessera compare/tessera solve/' err >compare.err
    # shellcheck disable=SC2086
    expect 2 solve spd.mtx --solver cg --$bad
    [ "$(head -n 1 err)" = "$(head -n 1 compare.err)" ] && pass || fail "compare says: $(head -n 1 compare.err)"
done

expect 2 compare spd.mtx --solvers cg,gmrse
err_has "unknown value 'gmrse'; did you mean 'gmres'"
expect 2 compare spd.mtx --solvers ''
expect 2 compare spd.mtx --preconds none,ic1
err_has "did you mean 'ic0'"
expect 2 compare spd.mtx --precisions fp64,fp33
expect 2 compare spd.mtx --budget 0
expect 2 compare spd.mtx --solvers cg,cg,cg,cg,cg,cg,cg,cg,cg,cg,cg,cg,cg,cg,cg,cg,cg
err_has 'takes at most 16 names'
expect 2 compare spd.mtx --solvers cg --rhs -
err_has 'give a file, not -'
expect 3 compare spd.mtx --solvers cg --rhs b2.mtx
