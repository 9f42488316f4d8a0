# SPDX-License-Identifier: Apache-2.0
# Options with a method or a preconditioner that they are not for: all pairs of the library's list. Rules of several.
label="options and methods that they are not for"
wrong=$(python3 "$here/check_option_pairs.py" "$tool") && pass || fail "$wrong"
while IFS='|' read -r options message; do
    # shellcheck disable=SC2086
    expect 2 solve no-such-matrix.mtx $options
    label="tessera solve $options"
    [ "$(head -n 1 err)" = "tessera solve: $message" ] && pass || fail "it says: $(head -n 1 err)"
done <<'END'
--solver lsqr --precond ilu0|--solver lsqr takes no preconditioner but jacobi, which scales columns
--precond lu --precond-precision fp16|--precond-precision of --precond lu is fp32 or fp64, not fp16/fp32
--precond lu --precond-precision fp32/fp64|--precond-precision of --precond lu is fp32 or fp64, not fp32/fp64
--solver gmres --row-order permuted|--row-order is for products and --solver jacobi: other solves keep the rows of A
--solver jacobi --precond ilu0|--solver jacobi takes no preconditioner; leave out --precond
--narrowing safe|--narrowing safe needs --format tiles --layout resident
--format csr --max-padding 5|max_padding (--max-padding) is for format ellr, sell, dia or bsr, not csr
--solver cg --sell-window 64|window (--sell-window) is for format sell, not csr
--format split --base ellr --sell-window 64|window (--sell-window) of format split is for --base sell or auto, not ellr
--granularity row|granularity (--granularity) is for format split, composite, tiles or packed, not csr
--format tiles --granularity row|format tiles has no granularity row; it takes block
--format auto --policy lossless --granularity matrix|format auto has no granularity matrix; it takes row, entry or block
--solver jacobi --format tiles --policy mean-range|a schedule of precisions is not available in format tiles
--solver jacobi --format sell|a schedule of precisions is not available in format sell
--solver cg --format sell --arithmetic fp32|a solve cannot compute in fp32 arithmetic
--solver cg --choices some.file|--choices is for --solver auto
--precision fp64 --policy lossless|--precision fp64 forbids lower precisions; leave it out, or --policy lossless
--precond amg --amg-restriction air --amg-modes 2|--amg-modes is for aggregation, which --amg-restriction air excludes
--precond amg --amg-modes 2 --amg-split pmis|--amg-split is for classical coarsening, which --amg-modes excludes
--precond amg --precond-precision fp16|amg takes --amg-precision for its levels, not --precond-precision
--precond amg --precond-precision fp32/fp64|amg takes --amg-precision for its levels, not --precond-precision
--solver cg --precond amg --amg-restriction air|cg is not for air and fc-jacobi: their cycle is not symmetric
--solver minres --precond amg --amg-smoother fc-jacobi|minres is not for air and fc-jacobi: their cycle is not symmetric
--solver minres --precond saddle --amg-restriction air|minres is not for air and fc-jacobi: their cycle is not symmetric
--solver minres --precond saddle --schur-fact-type upper|minres needs --schur-fact-type diag, which is definite
--solver cg --precond amg --amg-cycle k|--amg-cycle k needs --solver fgmres: it is another operator in each iteration
-ksp_type cg -ksp_gmres_restart 7|-ksp_gmres_restart is for -ksp_type gmres, gmres-ir, gmres-fd, fgmres or nested
END
# What solve refuses, info refuses in the same words: of the solve that it advises on, and that --solve names.
while IFS='|' read -r options message; do
    # shellcheck disable=SC2086
    expect 2 info no-such-matrix.mtx $options
    [ "$(head -n 1 err)" = "tessera info: $message" ] && pass || fail "it says: $(head -n 1 err)"
done <<'END'
--solve=lsqr,ilu0|--solver lsqr takes no preconditioner but jacobi, which scales columns
--solve --solver lsqr --precond ilu0|--solver lsqr takes no preconditioner but jacobi, which scales columns
--solve=jacobi,ilu0|--solver jacobi takes no preconditioner; leave out --precond
--solve=cg,ilu0 --amg-cycle w|--amg-cycle is for --precond amg or saddle
--solve=cg --restart 7|--restart is for --solver gmres, gmres-ir, gmres-fd, fgmres or nested
--restart 7|--restart is for --solver gmres, gmres-ir, gmres-fd, fgmres or nested
--solve=cg,lu --precond-precision fp16|--precond-precision of --precond lu is fp32 or fp64, not fp16/fp32
--solve=cg --solver gmres|--solve=cg names a solver; leave out --solver
--solve=cg,ilu0 --precond ic0|--solve=cg,ilu0 names a preconditioner; leave out --precond
END
expect 2 info spd.mtx --solve=cg --format csr --policy mean-range
err_has 'policy mean-range chooses among several precisions'
expect 0 info spd.mtx --format csr --policy mean-range
expect 0 info spd.mtx --format split --row-order permuted
expect 2 info no-such-matrix.mtx --amg-cycle w
err_has '^tessera info: --amg-cycle is for --precond amg or saddle$'
# What neither the advice, nor the assignment of a policy, nor the storage that is tried would read is refused, too.
same_refusal() {
    expect 2 solve "$@"
    said=$(head -n 1 err)
    expect 2 info "$@"
    [ "tessera info${said#tessera solve}" = "$(head -n 1 err)" ] && pass || fail "not as solve says: $(head -n 1 err)"
}
while read -r options; do
    # shellcheck disable=SC2086
    same_refusal spd.mtx $options
done <<'END'
--sell-window 64
--max-padding 2
--granularity row
--base sell
--levels fp64,fp16
--block 32x32
--share 95
--allow-underflow
--row-order permuted
--kernel paper
--arithmetic fp32
--narrowing safe
--format csr --sell-window 64
--format auto --base sell
--format split --matrix-precision fp32
--format tiles --matrix-precision fp32
--format composite --matrix-precision fp32
--format dia --policy mean-range
--solver jacobi --format dia
--solver jacobi --format pbp
--solver cg --arithmetic fp32 --format split
--solver cg --row-order permuted --format split
--precond jacobi-sweeps --precond-format tiles
END
same_refusal spd.mtx --precond saddle
same_refusal gallery:laplace2d:20 --solver fgmres --precond saddle
same_refusal gallery:elasticity3d:3 --precond amg --amg-block-size 5
expect 0 info gallery:stokes2d:10 --precond saddle
expect 0 info gallery:laplace2d:10 --solve=cg,fsai:adaptive --json info.json
out_has '^memory of a solve +cg with preconditioner fsai:adaptive: '
json info.json 'j["solve_memory"]["precond"] == "fsai:adaptive"'
expect 0 info gallery:laplace2d:10 --solve --solver gmres --precond block-jacobi:5
out_has '^memory of a solve +gmres with preconditioner block-jacobi:5: '
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n2 2 3\n3 3 4\n1 3 1\n' >one-way.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 2\n2 2 3\n3 1 4\n3 2 1\n' >rect.mtx
same_refusal one-way.mtx --recurrence one-reduction
expect 2 info spd.mtx --policy mean-range --base sell
expect 0 info spd.mtx --policy mean-range --arithmetic fp32 --levels fp64,fp16 --allow-underflow
expect 0 info spd.mtx --format sell --arithmetic fp32 --sell-window 64
expect 0 info spd.mtx --solver jacobi --format split --row-order permuted
expect 0 info spd.mtx --solve=jacobi --format split --row-order permuted
# A matrix that is not square has least squares, named or not.
while read -r options; do
    # shellcheck disable=SC2086
    same_refusal rect.mtx $options
done <<'END'
--precond ilu0
--precond lu
--precond ic0 --triangular blocks
--precond amg --amg-cycle w
--factor-memory 1
--stop-norm rows
--scale rows
--reorder rcm
--accuracy 1e-8
--recurrence one-reduction
END
expect 2 solve rect.mtx --precond ilu0 --json r.json
[ "$(head -n 1 err)" = 'tessera solve: --solver lsmr takes no preconditioner but jacobi, which scales columns' ] &&
    pass || fail "it says: $(head -n 1 err)"
for command in solve info; do
    expect 3 $command rect.mtx --solver bicgstab
    err_has 'rect.mtx: the matrix is 3 x 2, but a solve needs a square one'
done
expect 0 solve rect.mtx --precond none --device cpu
expect 0 info rect.mtx --precond jacobi

# Each command that info advises is one that solve takes: at the least it begins.
advised_run() {
    expect 0 info "$@"
    sed -nE 's/^ +(first|then) +//p' out | sed 's/: .*//' >advised.txt
    [ -s advised.txt ] && pass || fail "no command"
    while read -r line; do
        # shellcheck disable=SC2086
        expect '0|1|5' solve "$1" $line --max-iterations 20 --choices none --device cpu
    done <advised.txt
}
while read -r options; do
    # shellcheck disable=SC2086
    advised_run spd.mtx $options
done <<'END'
--factor-memory 1G
--solve=cg,amg --amg-cycle w
--solve=gmres,ilu0 --restart 7 --triangular blocks --leaf 64
--solve=cg,jacobi-sweeps --precond-steps fp32,mixed
--solve=cg,fsai:adaptive --inverse-steps 4 --inverse-step-size 2 --inverse-tolerance 0.01
--solve=cg,fsai:3 --inverse-threshold 0.2 --inverse-filter 0.1 --inverse-row 9
--solve=jacobi --format split --row-order permuted
--scale rows --reorder rcm
--precond lu --precond-precision fp32 --factor-memory 1G
--precond ilu0 --precond-precision fp16/fp64
--solver jacobi
--stop-norm preconditioned
--accuracy 1e-6
END
advised_run rect.mtx --precond none
advised_run one-way.mtx --factor-memory 1G
! grep -q -- '--precond jacobi.*--factor-memory' advised.txt && pass || fail "$(cat advised.txt)"

# Options that do not matter are not refused.
expect 0 solve spd.mtx --solver cg --choices none --restart 50
