# SPDX-License-Identifier: Apache-2.0
# --accuracy: the error of x that is wanted, what was reached, and what cannot be.
problem=gallery:laplace2d:40
expect 0 solve $problem --device cpu --choices none --accuracy 1e-9 --solver cg --json solve.json
out_has '^accuracy +forward error 1.0e-09 wanted, reached$'
out_has 'condition about .* of A, by CG'
out_has '^stopping .*accuracy 1e-09.'
json solve.json 'j["accuracy"]["reached"] and j["accuracy"]["error"] == "forward" and j["verified"]'
json solve.json '0 < j["accuracy"]["forward_error"] <= j["accuracy"]["wanted"] == 1e-9'
# the eigenvalues are known: 8 sin^2(pi / 82) and 8 cos^2(pi / 82)
json solve.json 'j["accuracy"]["condition_source"] == "lanczos" and 600 < j["accuracy"]["condition"] < 681.7'
expect 0 solve $problem --device cpu --choices none --accuracy 1e-6 --json solve.json
out_has '^by hand .* --accuracy 1e-06$'
json solve.json 'j["accuracy"]["reached"] and j["attempts"] and "--rtol" not in j["by_hand"]'
expect 0 solve $problem --device cpu --accuracy backward:1e-12 --solver bicgstab --json solve.json
out_has '^accuracy +backward error 1.0e-12 wanted, reached$'
json solve.json 'j["accuracy"]["error"] == "backward" and 0 < j["accuracy"]["backward_error"] <= 1e-12'
expect 0 solve $problem --device cpu --accuracy 1e-6 --solver bicgstab --json solve.json
out_has '^accuracy .* NOT KNOWN: '
json solve.json 'not j["accuracy"]["reached"]'
json solve.json 'j["accuracy"]["forward_error"] is None and j["accuracy"]["condition"] is None'
expect 0 solve $problem --device cpu --rtol 1e-6 --solver bicgstab --json solve.json
json solve.json 'j["accuracy"] is None'

# Hilbert's matrix of order 13: FP64 gives no digit
python3 - <<'PYTHON' >hilbert.mtx
n = 13
print("%%MatrixMarket matrix coordinate real symmetric")
print(n, n, n * (n + 1) // 2)
for i in range(n):
    for j in range(i + 1):
        print(i + 1, j + 1, 26771144400 // (i + j + 1))
PYTHON
expect 1 solve hilbert.mtx --device cpu --choices none --solver cg --accuracy 1e-12 --json solve.json
out_has '^accuracy .* NOT REACHED$'
json solve.json 'not j["accuracy"]["reached"] and j["reason"] != "rtol" and j["accuracy"]["condition"] > 1e13'
if ! "$TESSERA" solve $problem --precond lu --device cpu 2>&1 | grep -q 'needs MUMPS'; then
    expect 0 solve $problem --device cpu --solver gmres --precond lu --accuracy 1e-12 --json solve.json
    out_has 'of A, by complete factors'
    json solve.json 'j["accuracy"]["condition_source"] == "factors" and j["accuracy"]["forward_error"] <= 1e-12'
    expect '1|5' solve hilbert.mtx --device cpu --choices none --accuracy 1e-12 --json solve.json
    json solve.json 'not j["accuracy"]["reached"] and not j["converged"]'
fi

for wrong in 0 1 -1 nan many backward: backward:2 forwards:1e-3; do
    expect 2 solve $problem --accuracy=$wrong
    err_has 'accuracy'
done
expect 2 solve $problem --accuracy 1e-8 --rtol 1e-3
err_has 'leave out --rtol and --atol'
