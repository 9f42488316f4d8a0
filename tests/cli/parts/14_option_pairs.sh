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
--format csr --max-padding 5|max_padding (--max-padding) is for format ellr, sell or dia, not csr
--solver cg --sell-window 64|window (--sell-window) is for format sell, not csr
--format split --base ellr --sell-window 64|window (--sell-window) of format split is for --base sell or auto, not ellr
--granularity row|granularity (--granularity) is for format split, composite or tiles, not csr
--format tiles --granularity row|format tiles has no granularity row; it takes block
--format auto --policy lossless --granularity matrix|format auto has no granularity matrix; it takes row, entry or block
--solver jacobi --format tiles --policy mean-range|a schedule of precisions is not available in format tiles
--solver jacobi --format sell|a schedule of precisions is not available in format sell
--solver cg --format sell --arithmetic fp32|a solve cannot compute in fp32 arithmetic
--solver cg --choices some.file|--choices is for --solver auto
--precision fp64 --policy lossless|--precision fp64 forbids lower precisions; leave it out, or --policy lossless
-ksp_type cg -ksp_gmres_restart 7|-ksp_gmres_restart is for -ksp_type gmres, gmres-ir, gmres-fd or fgmres
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
--solve=cg,ilu0 --amg-cycle w|--amg-cycle is for --precond amg
--solve=cg --restart 7|--restart is for --solver gmres, gmres-ir, gmres-fd or fgmres
--restart 7|--restart is for --solver gmres, gmres-ir, gmres-fd or fgmres
--solve=cg,lu --precond-precision fp16|--precond-precision of --precond lu is fp32 or fp64, not fp16/fp32
--solve=cg --solver gmres|--solve=cg names a solver; leave out --solver
--solve=cg,ilu0 --precond ic0|--solve=cg,ilu0 names a preconditioner; leave out --precond
END
expect 2 info spd.mtx --solve=cg --format csr --policy mean-range
err_has 'policy mean-range chooses among several precisions'
expect 0 info spd.mtx --format csr --policy mean-range
expect 0 info spd.mtx --format split --row-order permuted
expect 2 info no-such-matrix.mtx --amg-cycle w
err_has '^tessera info: --amg-cycle is for --precond amg$'

# Options that do not matter are not refused.
expect 0 solve spd.mtx --solver cg --choices none --restart 50
