# SPDX-License-Identifier: Apache-2.0
# The norm that a solve stops by, the wanted error, several right-hand sides: reports, and requests that do not fit.
problem=gallery:laplace2d:10

expect 0 solve $problem --solver cg --precond jacobi --stop-norm preconditioned --device cpu --json norm.json
out_has '^stopping +\|\|M\^-1 \(b - A x\)\|\| <= max\(rtol \|\|M\^-1 b\|\|, atol\) .*, at most'
json norm.json 'j["options"]["stop_norm"] == "preconditioned" and j["converged"]'
expect 0 solve $problem --solver cg --stop-norm rows --device cpu --json norm.json
out_has '^stopping +\|\|b - A x\|\| <= max\(rtol \|\|b\|\|, atol\) of scaled rows .*, at most'
json norm.json 'j["row_residual"]["met"] and j["row_residual"]["relative"] <= 1e-5'
expect 0 solve $problem --solver cg --stop-norm both --scale symmetric --device cpu
out_has '^stopping .*, and of scaled rows, at most'
expect 2 solve $problem --solver cg --stop-norm preconditioned
expect 2 solve $problem --solver cg --precond jacobi --scale symmetric --stop-norm preconditioned
expect 2 solve $problem --solver cg --precond jacobi --reorder rcm --stop-norm preconditioned
err_has 'needs --precond, without --scale and --reorder'
expect 2 solve $problem --solver lsqr --stop-norm rows
err_has '^tessera solve: --solver lsqr stops by the norm as given'
expect 2 solve $problem --stop-norm none
err_has 'available: auto, given, rows, both, preconditioned'
for accuracy in 1e-6 backward:1e-6; do
    expect 0 solve $problem --accuracy $accuracy --stop-norm both
    expect 2 solve $problem --accuracy $accuracy --stop-norm preconditioned
    err_has 'accuracy goes with --stop-norm given, rows or both, and not with preconditioned'
    expect 2 solve $problem --accuracy $accuracy --rtol 1e-3
    expect 2 solve $problem --accuracy $accuracy --atol 1
    err_has 'leave out --rtol and --atol'
    expect 0 solve $problem --accuracy $accuracy --stop-norm given --device cpu
done
expect 2 solve $problem --accuracy 0
expect 2 solve $problem --accuracy 1
err_has 'is not a relative error above 0 and below 1'
expect 2 solve $problem --system transformed
err_has 'system transformed needs --scale or --reorder'

# Many columns: those that are not verified are listed, and the worst; NaN is worse than any number.
columns() { # VALUE...: the first elements of columns (v, 2, 3)
    printf '%%%%MatrixMarket matrix array real general\n3 %s\n' $#
    printf '%s\n2\n3\n' "$@"
}
# shellcheck disable=SC2046
columns $(seq 22) >many-b.mtx
expect 0 solve spd.mtx --rhs many-b.mtx --solver cg --device cpu --json many.json
out_has '^right-hand sides +22 of 22 verified; the report below is of column [0-9]+, the worst$'
label='only the worst of many verified columns is listed'
[ "$(grep -Ec '^ +[0-9]+ .* verified$' out)" = 1 ] && pass || fail "$(cat out)"
json many.json 'len(j["columns"]) == 22 and j["verified_columns"] == 22'
columns 1 nan 1 >nan-b.mtx
expect 5 solve spd.mtx --rhs nan-b.mtx --solver cg --device cpu --json many.json
out_has '^right-hand sides +2 of 3 verified; the report below is of column 2, the worst$'
json many.json '[c["exit_code"] for c in j["columns"]] == [0, 5, 0] and j["worst_column"] == 2'
expect 1 solve spd.mtx --rhs many-b.mtx --solver gmres --time-limit 1e-9 --device cpu --json many.json
out_has '^ +22 +- +- +- +not solved: interrupted before$'
json many.json 'not j["columns"][21]["solved"] and j["columns"][21]["residual_norm"] is None'
expect 1 solve spd.mtx --rhs many-b.mtx --solver cg --time-limit 1e-9 --device cpu --json many.json # together
json many.json 'j["reason"] == "time_limit" and [c["solved"] for c in j["columns"]].count(True) == 8'
# 8 at once, then the rest.
# shellcheck disable=SC2046
columns $(seq 70) >more-b.mtx
for solver in auto cg; do
    expect 0 solve spd.mtx --rhs more-b.mtx --solver $solver --device cpu --json many.json --history many.csv \
        --output many.npy
    json many.json 'len(j["columns"]) == j["verified_columns"] == 70'
    json many.json 'j["columns_solve_seconds"] >= max(c["solve_seconds"] for c in j["columns"])'
    label='the history is that of the worst column'
    rows=$(($(grep -c . many.csv) - 2))
    json many.json "j['columns'][j['worst_column'] - 1]['iterations'] == j['iterations'] == $rows"
    expect 0 solve spd.mtx --rhs more-b.mtx --initial-guess many.npy --solver $solver --device cpu --json many.json
    json many.json 'j["columns_iterations"] == 0'
done
printf '%s\n' '%%MatrixMarket matrix array real general' '3 1' 1 2 3 >one-guess.mtx
expect 0 solve spd.mtx --rhs many-b.mtx --initial-guess one-guess.mtx --solver cg --device cpu
expect 0 solve spd.mtx --rhs many-b.mtx --solver cg --device cpu --monitor # one after another
label='--monitor prints iterations of each column'
[ "$(grep -c '^ *0  residual' err)" -le 22 ] && pass || fail "$(cat err)"
expect 1 solve spd.mtx --rhs many-b.mtx --solver cg --max-iterations 0 --device cpu --json many.json
json many.json 'j["verified_columns"] == 0 and j["columns_iterations"] == 0'

# Results that do not fit on a disk.
if [ -c /dev/full ]; then
    for option in --html --history --output --json; do
        label="tessera solve gallery:laplace2d:100 $option /dev/full"
        "$tool" solve gallery:laplace2d:100 --solver cg --device cpu $option /dev/full >out 2>err
        [ $? -eq 3 ] && pass || fail "another exit code; stderr: $(cat err)"
        err_has 'No space left on device'
    done
fi
