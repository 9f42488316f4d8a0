# SPDX-License-Identifier: Apache-2.0
# tessera verify, and the rows that the norm as given hides from a solve.
vector() { printf '%%%%MatrixMarket matrix array real general\n%s 1\n' $#; printf '%s\n' "$@"; }
coordinate() { printf '%%%%MatrixMarket matrix coordinate real %s\n' "$1"; }
{
    coordinate symmetric
    printf '5 5 9\n1 1 1e30\n2 2 2\n3 3 2\n4 4 2\n5 5 1e30\n2 1 -1\n3 2 -1\n4 3 -1\n5 4 -1\n'
} >rod.mtx
vector 1e30 0 0 0 3e30 >rod-b.mtx
vector 1 0 0 0 3 >rod-hidden.mtx
vector 1 1.5 2 2.5 3 >rod-x.mtx

# Right and wrong answers; each norm decides where it is asked for.
expect 0 verify rod.mtx rod-b.mtx rod-x.mtx --device cpu --json verify.json
out_has '^result +the tolerance is met$'
json verify.json 'j["command"] == "verify" and j["met"] and j["row_residual"]["met"] and j["exit_code"] == 0'
json verify.json 'j["columns"] is None and j["forward_error"] is None and j["options"]["stop_norm"] == "both"'
expect 1 verify rod.mtx rod-b.mtx rod-hidden.mtx --device cpu --json verify.json
out_has '^result +NOT MET in the norm of scaled rows$'
out_has '^ +[0-9.e-]+ relative, TRUE, rows scaled to one size; backward error 1.0e\+00 \(row 2\)$'
out_has '^rows +row +residual'
json verify.json 'j["given_met"] and not j["met"] and [r["row"] for r in j["rows"]][:2] == [2, 4]'
json verify.json 'abs(j["rows"][1]["share"] - 0.9) < 1e-12 and j["row_residual"]["backward_row"] == 2'
expect 0 verify rod.mtx rod-b.mtx rod-hidden.mtx --stop-norm given
expect 1 verify rod.mtx rod-b.mtx rod-hidden.mtx --stop-norm rows --rows 1 --json verify.json
out_has '^tolerance .* of scaled rows$'
json verify.json 'len(j["rows"]) == 1'
expect 1 verify rod.mtx rod-b.mtx rod-hidden.mtx --rows 0 --json verify.json
json verify.json 'j["rows"] == []'
expect 1 verify spd.mtx b3.mtx zeros3.mtx --device cpu
out_has '^result +NOT MET in either norm$'
expect 1 verify spd.mtx b3.mtx zeros3.mtx --stop-norm given
out_has '^result +NOT MET in the norm as given$'
expect 0 verify spd.mtx b3.mtx zeros3.mtx --atol 100
expect 0 verify wide.mtx a-times-ones ones --rtol 0
expect 0 verify gallery:laplace2d:10 a-times-ramp ones --rtol 1 --json -
json out 'j["rhs"] == "a-times-ramp" and j["nrows"] == 100'

# NaN and Inf are never met.
expect 1 verify spd.mtx b3.mtx nan3.mtx --json verify.json
out_has '^result +NOT MET: x has NaN or Inf, first in row [1-3]$'
json verify.json 'j["nonfinite_solution"] >= 1 and j["residual_norm"] is None and not j["met"]'
expect 1 verify spd.mtx nan3.mtx b3.mtx
out_has 'NOT MET: b has NaN or Inf, first in row [1-3]$'

# Several columns: each is judged, by its b or by one.
columns() { printf '%%%%MatrixMarket matrix array real general\n3 2\n'; printf '%s\n' "$@"; }
columns 3 2 3 1 2 3 >two-b.mtx
columns 1 1 1 1 1 1 >two-x.mtx
expect 1 verify spd.mtx two-b.mtx two-x.mtx --json verify.json
out_has '^columns +1 of 2 meet the tolerance; the report below is of column 2, the worst$'
json verify.json '[c["met"] for c in j["columns"]] == [True, False]'
json verify.json 'j["worst_column"] == 2 and j["met_columns"] == 1'
vector 3 2 3 >one-b.mtx
expect 0 verify spd.mtx one-b.mtx two-x.mtx
{
    printf '%%%%MatrixMarket matrix array real general\n3 22\n'
    for j in $(seq 22); do printf '1\n1\n%s\n' $((j == 7 ? 9 : 1)); done
} >many-x.mtx
expect 1 verify spd.mtx one-b.mtx many-x.mtx --json verify.json
out_has '^columns +21 of 22 meet the tolerance; the report below is of column 7, the worst$'
label='columns that meet the tolerance are not listed, where there are many'
[ "$(grep -Ec '^ +[0-9]+ .* (met|NOT MET)$' out)" = 1 ] && pass || fail "$(cat out)"
json verify.json 'len(j["columns"]) == 22 and j["worst_column"] == 7 and not j["columns"][6]["met"]'
columns 1 1 2 1 nan 1 >bad-x.mtx # NaN is worse than any number, and later numbers are not worse
expect 1 verify spd.mtx one-b.mtx bad-x.mtx --json verify.json
json verify.json 'j["worst_column"] == 2 and j["nonfinite_solution"] == 2 and j["rows"][0]["residual"] is None'
columns 1 nan 1 1 1 2 >bad-x.mtx
expect 1 verify spd.mtx one-b.mtx bad-x.mtx --json verify.json
json verify.json 'j["worst_column"] == 1 and j["met_columns"] == 0'
expect 1 verify spd.mtx one-b.mtx bad-x.mtx
out_has '^ +1 +not finite +not finite +not finite +NOT MET$'
! grep -Eq -- '-?nan' out && pass || fail "a NaN: $(grep -Em 1 -- '-?nan' out)"
vector 1 1 1 >one-x.mtx
expect 3 verify spd.mtx two-b.mtx one-x.mtx
err_has 'b has 2 columns and x has 1'

# The error of x, where factors tell it.
expect 0\|1 verify spd.mtx one-b.mtx one-x.mtx --accuracy
out_has '^forward error +(about 0.0e\+00|unknown)'
expect 0 verify wide.mtx ones ones --accuracy
out_has '^forward error +unknown'

# Requests that cannot be met.
expect 2 verify
expect 2 verify spd.mtx
expect 2 verify spd.mtx b3.mtx
err_has 'x was not given'
expect 2 verify spd.mtx b3.mtx b3.mtx b3.mtx
err_has 'fourth argument'
expect 2 verify - b3.mtx -
expect 2 verify spd.mtx b3.mtx b3.mtx --stop-norm preconditioned
expect 2 verify spd.mtx b3.mtx b3.mtx --rtol -1
expect 2 verify spd.mtx '' b3.mtx
expect 2 verify spd.mtx b3.mtx b3.mtx --json b3.mtx
expect 3 verify spd.mtx b3.mtx rod-x.mtx
err_has 'rod-x.mtx: x has 5 rows and 1 column, but the matrix is 3 x 3, and x needs 3 rows'
expect 3 verify spd.mtx rod-b.mtx b3.mtx
expect 3 verify wide.mtx b3.mtx b3.mtx
expect 3 verify spd.mtx absent.mtx b3.mtx
expect 3 verify absent.mtx b3.mtx b3.mtx
label='x from standard input'
"$tool" verify spd.mtx one-b.mtx - <one-x.mtx >out 2>err && pass || fail "$(head -n 2 err)"

# A solve by the norm as given says what it hides, and what to type.
expect 1 solve rod.mtx --rhs rod-b.mtx --solver cg --device cpu --json solve.json
out_has '^findings +the row-scaled residual is 5e\+04 times its tolerance: 2 rows \(the first is row 2\) are far'
out_has 'far from solved; the norm as given hides them$'
json solve.json 'j["converged"] and not j["verified"] and not j["row_residual"]["met"]'
json solve.json 'j["findings"]["hidden_rows"]["count"] == 2 and j["findings"]["hidden_rows"]["row"] == 2'
json solve.json '"--scale symmetric --stop-norm both" in j["findings"]["next"]'
label='the command that "next" names'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next --output x.mtx
expect 0 verify rod.mtx rod-b.mtx x.mtx --rtol 1e-14
coordinate general >upwind.mtx
printf '4 4 8\n1 1 1e12\n2 1 -1\n2 2 2\n2 3 -0.5\n3 2 -1\n3 3 2\n3 4 -0.5\n4 4 1e12\n' >>upwind.mtx
vector 1e12 0 0 3e12 >upwind-b.mtx
expect 1 solve upwind.mtx --rhs upwind-b.mtx --solver gmres --device cpu --json solve.json
json solve.json '"--solver gmres --scale rows --stop-norm both" in j["findings"]["next"]'
label='the command that "next" names for a matrix that is not symmetric'
next=$(sed -n 's/^next  *tessera //p' out)
expect 0 $next
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e12\n2 2 1\n' >lsqr.mtx
vector 1e12 5 >lsqr-b.mtx
expect 1 solve lsqr.mtx --rhs lsqr-b.mtx --solver lsqr --max-iterations 1 --device cpu --json solve.json
json solve.json '"--solver auto" in j["findings"]["next"]'
expect 0 solve rod.mtx --rhs rod-b.mtx --device cpu --choices none --rtol 1e-12 --output x.mtx
expect 0 verify rod.mtx rod-b.mtx x.mtx --rtol 1e-12

# a residual that is 0 over the size of its row has no share of 0
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e308\n' >steep.mtx
vector 1e-20 >steep-b.mtx
vector 0 >steep-x.mtx
expect 1 verify steep.mtx steep-b.mtx steep-x.mtx --json verify.json
out_has '^ +1 +1[.]000e-20 +1[.]0e[+]00 +unknown$'
json verify.json 'j["rows"][0]["share"] is None'
