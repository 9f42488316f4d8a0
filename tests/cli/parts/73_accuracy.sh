# SPDX-License-Identifier: Apache-2.0
# --accuracy: the error of x that is wanted, what was reached, and what cannot be.
problem=gallery:laplace2d:40
expect 0 solve $problem --device cpu --choices none --accuracy 1e-9 --solver cg --json solve.json
out_has '^accuracy +forward error 1.0e-09 wanted, reached$'
out_has 'condition about .* of A, by (CG|complete factors)'
out_has '^stopping .*accuracy 1e-09.'
json solve.json 'j["accuracy"]["reached"] and j["accuracy"]["error"] == "forward" and j["verified"]'
json solve.json '0 < j["accuracy"]["forward_error"] <= j["accuracy"]["wanted"] == 1e-9'
expect 0 solve $problem --device cpu --choices none --accuracy 1e-6 --json solve.json
out_has '^by hand .* --accuracy 1e-06$'
json solve.json 'j["accuracy"]["reached"] and j["attempts"] and "--rtol" not in j["by_hand"]'
expect 0 solve $problem --device cpu --accuracy backward:1e-12 --solver bicgstab --json solve.json
out_has '^accuracy +backward error 1.0e-12 wanted, reached$'
json solve.json 'j["accuracy"]["error"] == "backward" and 0 < j["accuracy"]["backward_error"] <= 1e-12'
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
out_has '^accuracy .* NOT (REACHED|KNOWN: .*)$'
json solve.json 'not j["accuracy"]["reached"] and j["reason"] != "rtol" and j["accuracy"]["condition"] > 1e13'
if ! "$TESSERA" solve $problem --precond lu --device cpu 2>&1 | grep -q 'needs MUMPS'; then
    expect 0 solve $problem --device cpu --solver gmres --precond lu --accuracy 1e-12 --json solve.json
    out_has 'of A, by complete factors'
    json solve.json 'j["accuracy"]["condition_source"] == "factors" and j["accuracy"]["forward_error"] <= 1e-12'
    # each method's error is known by factors beside it
    expect 0 solve $problem --device cpu --accuracy 1e-6 --solver bicgstab --json solve.json
    json solve.json 'j["accuracy"]["reached"] and j["accuracy"]["condition_source"] == "factors"'
    # factors in fp32 alone do not tell: not reached, and what would
    expect 1 solve hilbert.mtx --device cpu --solver gmres --precond lu --precond-precision fp32 --accuracy 0.1 \
        --json solve.json
    out_has '^accuracy .* NOT (KNOWN|REACHED)'
    json solve.json 'not j["accuracy"]["reached"] and not j["converged"]'
    json solve.json 'j["accuracy"]["forward_error"] is None and j["accuracy"]["condition"] is None'
    out_has 'precond-precision fp64'
    # b has nearly no part of the eigenvector to 5e-9, so that CG does not see it: x would be (0.5, 0.5)
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 1\n2 2 1.00000001\n' >near.mtx
    printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1.00000001\n' >near.rhs.mtx
    expect '0|1' solve near.mtx --rhs near.rhs.mtx --device cpu --choices none --solver cg --accuracy 1e-6 \
        --output near.x.mtx --json solve.json
    json solve.json 'j["accuracy"]["condition"] > 1e8'
    json solve.json 'not j["accuracy"]["reached"] or abs(float(open("near.x.mtx").read().split()[-1]) - 1) < 1e-5'
    expect '1|5' solve hilbert.mtx --device cpu --choices none --accuracy 1e-12 --json solve.json
    json solve.json 'not j["accuracy"]["reached"] and not j["converged"]'
fi

for wrong in 0 1 -1 nan many backward: backward:2 forwards:1e-3; do
    expect 2 solve $problem --accuracy=$wrong
    err_has 'accuracy'
done
expect 2 solve $problem --accuracy 1e-8 --rtol 1e-3
err_has 'leave out --rtol and --atol'
