# SPDX-License-Identifier: Apache-2.0
# After a solve that failed: what is wrong with the system, and a command that helps.
# Row 3 is empty, column 2 has one entry, row 4 equals row 1.
head='%%%%MatrixMarket matrix coordinate real general\n%% text\n'
printf "${head}4 4 6\n1 1 2\n1 3 1\n2 2 1\n2 4 1\n4 1 2\n4 3 1\n" >faulty.mtx
expect 1\|5 solve faulty.mtx --solver gmres --rhs random --device cpu --json findings.json
out_has '^findings +structurally singular: rank at most 3 of 4$'
out_has '^ +1 row without a partner; the first: row 3$'
out_has '^ +1 column without a partner; the first: column [1-4]$'
out_has '^ +1 row is empty; the first: row 3'
out_has '^ +2 diagonal entries are 0 or absent; the first: row 3, column 3'
out_has '^ +1 row is equal to a row before; the first: row 4 to row 1'
out_has '^ +best relative residual [0-9.e-]+; an x of this size can reach about [0-9.e-]+'
out_has '^next +tessera solve faulty.mtx --solver lsqr'
json findings.json 'j["findings"]["structural_rank"] == 3
    and j["findings"]["empty_rows"] == {"count": 1, "row": 3, "column": None}'
json findings.json 'j["findings"]["duplicate_rows"]["row"] == 4 and j["findings"]["duplicate_rows"]["column"] == 1'
json findings.json 'j["findings"]["unmatched_rows"]["count"] == 1 and j["converged"] is False'
label='the command that "next" names'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next
out_has '^right-hand side +random:1'
out_has 'least_squares, 1'

# After an automatic solve `why` says so too. x1 + x2 = 1 and x3 + x4 = 1 leave no x for rows 3 and 4, whose sums are 5.
printf "${head}4 4 8\n1 1 1\n1 2 1\n2 3 1\n2 4 1\n3 1 5\n3 2 5\n4 1 7\n4 2 7\n" >deficient.mtx
expect 1\|5 solve deficient.mtx --device cpu --choices none --explain --json findings.json
out_has 'structurally singular: rank at most 3 of 4; row [34] and column [1-4] have no partner$'
err_has 'structurally singular'
json findings.json 'any(line.startswith("structurally singular: rank at most 3 of 4") for line in j["why"])
    and j["findings"]["structural_rank"] == 3 and j["findings"]["unmatched_columns"]["count"] == 1'
printf "${head}4 4 8\n1 1 1\n1 2 1\n2 1 1\n2 2 2\n3 1 5\n3 2 5\n4 1 7\n4 2 7\n" >narrow.mtx # columns 3 and 4 are empty
expect 1\|5 solve narrow.mtx --device cpu --choices none --explain
out_has 'rank at most 2 of 4; 2 rows and as many columns have no partner, row [1-4] and column 3 the first$'
printf "${head}1 1 1\n1 1 -1\n" >minus-one.mtx
expect 0 info minus-one.mtx
out_has '^recommendation .*all of its diagonal is negative.*treated as -A'
printf "${head}2 2 4\n1 1 -1\n1 2 2\n2 1 2\n2 2 1\n" >mixed.mtx
expect 0 info mixed.mtx
out_has '^recommendation .*: 1 of 2 diagonal entries is 0 or negative'
expect 0 solve deficient.mtx --device cpu --choices none --solver lsqr
! grep -q 'structurally singular' out && pass || fail 'a solve that converged is called singular'

# A structurally singular system for which no solver can be set up has its JSON too.
rm -f findings.json
expect 5 solve faulty.mtx --scale max-product --device cpu --json findings.json
err_has 'structural rank is 3 of 4'
json findings.json 'j["reason"] == "precond_setup" and j["exit_code"] == 5 and j["findings"]["structural_rank"] == 3'
json findings.json '"structurally singular" in j["detail"]'

# NaN: the place, and the line of the file; nothing is advised that cannot help.
printf '%%%%MatrixMarket matrix coordinate real general\n%% text\n2 2 3\n1 1 2\n2 2 nan\n2 1 1\n' >nan.mtx
expect 5 solve nan.mtx --solver bicgstab --device cpu --json findings.json
out_has '^findings +1 entry is NaN or Inf; the first: row 2, column 2'
out_has '^ +it is in line 5 of nan.mtx'
! grep -q '^next' out && pass || fail 'a command is advised'
json findings.json 'j["findings"]["nonfinite"] == {"count": 1, "row": 2, "column": 2} and j["findings"]["next"] is None'

# An indefinite matrix under cg: the advice works. A tolerance below rounding: the one that can be met.
expect 5 solve gallery:indefinite:20 --solver cg --device cpu
out_has '^next +tessera solve gallery:indefinite:20 --solver auto --device cpu$'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next
expect 1 solve gallery:laplace2d:30 --solver cg --rtol 1e-18 --device cpu
out_has '^next +tessera solve gallery:laplace2d:30 --solver cg --rtol [0-9.e-]+'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next
# Singular up to rounding, and not by its pattern: the size of x shows it. No command has a tolerance out of range.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 2\n2 1 2\n2 2 4\n' >rank1.mtx
expect '1|5' solve rank1.mtx --device cpu --choices none --json findings.json
out_has '^advice +the matrix is singular up to rounding'
out_has 'condition number is at least [0-9.e+]+: .*; A is singular up to rounding$'
json findings.json 'j["findings"]["least_condition"] >= 1e14 and j["findings"]["structural_rank"] == 2'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next
out_has 'least_squares, 1'
# Hilbert's matrix: the tolerance that is named is met. The condition number of order 12 is 1.8e16 in this norm.
python3 - <<'PYTHON' >hilbert.mtx
print("%%MatrixMarket matrix coordinate real symmetric\n12 12 78")
for i in range(1, 13):
    for j in range(1, i + 1):
        print(i, j, 1 / (i + j - 1))
PYTHON
expect '1|5' solve hilbert.mtx --rtol 1e-13 --device cpu --choices none --json findings.json
out_has '^advice +an x of this size has no much smaller residual in FP64; ask for a larger --rtol'
json findings.json '1e8 < j["findings"]["least_condition"] < 2e16'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next
# A fixed run ends at its limit as intended: no command would meet a tolerance of 0. An absolute one is repeated.
expect 1 solve spd.mtx --solver cg --rtol 0 --max-iterations 1 --device cpu
! grep -Eq '^(next|advice)' out && pass || fail 'advice after a fixed run'
expect 1 solve gallery:laplace2d:30 --solver cg --rtol 0 --atol 1e-6 --max-iterations 3 --device cpu
out_has '^next +tessera solve gallery:laplace2d:30 .*--rtol 0 --atol 1e-06 --device cpu$'
# A limit of time says nothing against the method, in an automatic solve either.
expect 1 solve gallery:laplace2d:300 --rtol 1e-12 --time-limit 1e-6 --device cpu --choices none
out_has '^advice +--checkpoint FILE keeps x'
# The command by hand solves the same system.
expect 0 solve spd.mtx --rhs a-times-ramp --rtol 0 --atol 1e-3 --device cpu --choices none --json solve.json
out_has '^by hand +tessera solve spd.mtx .*--rtol 0 --atol 0.001 --rhs a-times-ramp --device cpu$'
json solve.json 'j["by_hand"].endswith(" --rhs a-times-ramp --device cpu")'
expect 0 solve "$TESS_DATA_DIR/nos3.mtx.gz" --scale symmetric --reorder rcm --format sell --device cpu --choices none \
    --json solve.json
out_has '^stopping .*rtol 1e-05, atol 0.*at most 10000 iterations$'
out_has '^by hand .* --scale symmetric --reorder rcm --format sell --stop-norm both --rtol 1e-05 --device cpu$'
json solve.json 'j["options"]["rtol"] == 1e-5 and j["options"]["max_iterations"] == 10000'
by_hand=$(sed -n 's/^by hand  *tessera //p' out)
expect 0 $by_hand --device cpu --json again.json
json again.json 'j["scale"] == "symmetric" and j["reorder"] == "rcm" and j["format"] == "sell"'
# An unsymmetric matrix under cg is not sent to another method for symmetric ones.
expect 1 solve unsym.mtx --solver cg --device cpu
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next --device cpu --choices none
# A singular matrix that no null vector betrays: after all methods of the list, least squares.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 9\n1 1 1\n1 2 2\n1 3 3\n2 1 4\n2 2 5\n2 3 6\n' >rank2.mtx
printf '3 1 7\n3 2 8\n3 3 9\n' >>rank2.mtx
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n1\n5\n' >outside.mtx
expect '1|5' solve rank2.mtx --rhs outside.mtx --rtol 1e-15 --device cpu --choices none
out_has '^next +tessera solve rank2.mtx --solver lsqr --precond jacobi --rtol 1e-12 --rhs outside.mtx --device cpu$'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next
# Where the error is reached after attempts that ended above the tolerance, no method stands for it.
expect 0 solve "$TESS_DATA_DIR/1138_bus.mtx.gz" --accuracy 1e-12 --device cpu --choices none --json solve.json
json solve.json '(j["attempts"][-1]["reason"] in ("rtol", "atol")) == (j["by_hand"] is not None)'
# A graph's Laplacian: constants are its null vectors.
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 1 -1\n2 2 2\n3 2 -1\n3 3 1\n' >laplacian.mtx
expect 1\|5 solve laplacian.mtx --solver bicgstab --device cpu
out_has 'A times the vector of ones is 0'
expect 0 solve spd.mtx --device cpu --json findings.json
json findings.json 'j["findings"] is None'
! grep -Eq '^(findings|next)' out && pass || fail 'findings of a success'

# With multigrid its options are part of the command.
expect 0 solve gallery:elasticity3d:5 --precond amg --amg-smoother block-jacobi --amg-cycle w --amg-degree 3 \
    --amg-precision fp32,fp16 --amg-strength 0.1 --device cpu --choices none --json solve.json
out_has '^by hand .* amg --amg-precision fp32,fp16 --amg-cycle w --amg-smoother block-jacobi --amg-degree 3 '
out_has '^by hand .* --amg-degree 3 --amg-strength 0.1 '
by_hand=$(sed -n 's/^by hand  *tessera //p' out)
# shellcheck disable=SC2086
expect 0 $by_hand --device cpu --json again.json
json again.json "j['iterations'] == __import__('json').load(open('solve.json'))['iterations']"

# NaN says nothing of symmetry.
for options in '' '--precond amg' '--accuracy 1e-6'; do
    # shellcheck disable=SC2086
    expect 5 solve gallery:nan:50 --device cpu --choices none $options --json solve.json
    json solve.json 'j["attempts"] == [] and j["why"] == ["NaN or Inf in the matrix"] and j["solver"] == "auto"'
    out_has '^findings +1 entry is NaN or Inf; the first: row 26, column 26$'
done
expect 5 solve gallery:nan:50 --device cpu --choices none
out_has '^why +NaN or Inf in the matrix$'

# What is known of the matrix is said on stderr too, and NaN has no sign
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 nan\n2 2 1\n3 3 1\n' >nan.mtx
expect 5 solve nan.mtx
err_has 'not converged: NaN or Inf appeared; the matrix has NaN or Inf$'
! grep -q -- '-nan' out && pass || fail "a NaN with a sign: $(grep -m 1 -- -nan out)"
out_has '^residual +not finite, as the solver estimates it$'
out_has '^ +not finite, TRUE; norm not finite, rounding bound not finite$'
expect 5 solve nan.mtx --solver lsqr
out_has '^normal equations +not finite, TRUE'
! grep -q -- '-nan' out && pass || fail "a NaN with a sign: $(grep -m 1 -- -nan out)"
expect 5 solve nan.mtx
! grep -q 'empty rows' out && pass || fail "a row of NaN is called empty"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 2\n2 2 1\n' >gap.mtx
expect "1|5" solve gap.mtx
err_has 'the matrix has empty rows'

# A cycle without iterations is the last: the norm meets the tolerance, and the norm with its bound does not
banner="%%%%MatrixMarket matrix coordinate real"
printf "$banner symmetric\n3 3 5\n1 1 2e-310\n2 2 2e-310\n3 3 2e-310\n2 1 -1e-310\n3 2 -1e-310\n" >tiny.mtx
for options in "" "--solver cg" "--solver gmres" "--solver gmres-fd --switch-at 5" "--scale symmetric"; do
    label="solve tiny.mtx $options"
    timeout 20 "$tool" solve tiny.mtx --rhs a-times-ramp --rtol 1e-14 $options >out 2>err
    code=$?
    [ $code -eq 0 ] || [ $code -eq 1 ] || [ $code -eq 5 ] && pass || fail "exit $code"
done

# After an automatic solve nothing is advised that it has tried. A singular system soon ends, and its row is named.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n1 2 2\n1 3 1\n2 1 3\n3 1 4\n' >singular.mtx
expect '1|5' solve singular.mtx --device cpu --choices none --json findings.json
out_has '^ +1 row without a partner; the first: row 3'
out_has '^next +tessera solve singular.mtx --solver lsqr'
out_has '^advice +the matrix is singular'
json findings.json 'j["iterations"] <= 300 and len(j["attempts"]) > 1'
expect '1|5' solve "$TESS_DATA_DIR/bcsstk06.mtx.gz" --device cpu --choices none --max-iterations 5 --json findings.json
out_has '^advice +raise --max-iterations; --explain'
json findings.json 'not any("--solver " + a["solver"] + " --precond " + a["precond"] in j["findings"]["next"]
    for a in j["attempts"])'

# A part without a solution, rows 4 to 7, is named by each method, which ends near the least residual: 8 / sqrt(4).
printf '%%%%MatrixMarket matrix coordinate real symmetric\n7 7 12\n1 1 2\n2 1 -1\n2 2 2\n3 2 -1\n3 3 2\n' >island.mtx
printf '4 4 1\n5 4 -1\n5 5 2\n6 5 -1\n6 6 2\n7 6 -1\n7 7 1\n' >>island.mtx
printf '%%%%MatrixMarket matrix array real general\n7 1\n1\n2\n3\n1\n2\n2\n3\n' >island_b.mtx
for solver in cg minres gmres bicgstab idr auto; do
    expect 1 solve island.mtx --rhs island_b.mtx --solver $solver --device cpu --choices none --rtol 1e-8 \
        --json island.json
    out_has '4 rows, row 4 and all that are coupled to it, have columns that sum to 0, and b does not there'
    out_has '^advice +the system has no solution'
    json island.json 'j["reason"] == "stagnation" and abs(j["residual_norm"] - 4) < 1e-3
        and j["findings"]["inconsistent_rows"]["count"] == 4'
done
# An inconsistency below the tolerance is none: the limit of iterations is what ends this one.
printf '%%%%MatrixMarket matrix array real general\n7 1\n1\n2\n3\n1\n-2\n1\n1e-9\n' >island_b.mtx
expect 1 solve island.mtx --rhs island_b.mtx --solver cg --max-iterations 1 --device cpu --rtol 1e-6 --json island.json
! grep -q 'sum to 0' out && pass || fail 'an inconsistency below the tolerance is named'
json island.json '0 < j["findings"]["inconsistency"] < 1e-9'

# A file of choices that cannot be written is told once, and changes nothing.
expect 0 solve "$TESS_DATA_DIR/bcsstk06.mtx.gz" --device cpu --choices /nowhere/choices --rtol 1e-8 --json solve.json
if [ "$(grep -c 'warning: the file of choices /nowhere/choices cannot be written' err)" -le 1 ]; then
    pass
else
    fail "the warning is repeated"
fi
if python3 -c 'import json; exit(len(json.load(open("solve.json"))["attempts"]) < 2)'; then
    err_has 'warning: the file of choices /nowhere/choices cannot be written'
fi
expect 0 solve spd.mtx --device cpu --choices /nowhere/choices
if [ ! -s err ]; then pass; else fail 'a warning without need'; fi
