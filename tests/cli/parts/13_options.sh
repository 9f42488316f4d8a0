# SPDX-License-Identifier: Apache-2.0
# Options that do not go together are a matter of usage: exit 2, and a message that names one of them.
while IFS='|' read -r options named; do
    # shellcheck disable=SC2086
    expect 2 solve unsym.mtx --device cpu $options
    err_has "$named"
done <<'END'
--solver lsqr --precond ilu0|lsqr takes no preconditioner but jacobi
--solver lsmr --precond amg|lsmr takes no preconditioner but jacobi
--solver lsqr --scale symmetric|leave out --scale and --reorder
--solver lsmr --reorder rcm|leave out --scale and --reorder
--solver lsqr --accuracy 1e-5|accuracy
--solver gmres --format split --policy mean-range --row-order permuted|--row-order
--solver cg --format split --policy mean-range --row-order permuted|--row-order
--solver bicgstab --recurrence predict-and-recompute|recurrence
--solver gmres --recurrence standard|--recurrence
--solver cg --format ellr --arithmetic fp32|arithmetic
--solver jacobi --format dia|format dia
--solver jacobi --precond jacobi|takes no preconditioner
--precond ilu0 --precond-precision fp32|is fp64, fp32.fp64, bf16.fp64 or fp16.fp64, not fp32.fp32
--precond ilut --factorization sweeps:101|is out of range
--precond jacobi-sweeps --precond-precision fp32|--precond-precision
--precond block-jacobi:3 --leaf 5|--leaf
--precond amg --precond-policy mean-range|--precond-policy
--precond-precision fp32|--precond
--solver cg --restart 5|--restart
--solver cg --inner-precision fp32|--inner-precision
--solver gmres-ir --basis-precision fp64|basis
--engine graph|GPU
--omega 0.5|--omega
--accuracy 1e-5 --rtol 1e-6|--accuracy
--system transformed|--system
--narrowing safe|--narrowing
--checkpoint-every 5|--checkpoint
--resume a.ckpt --initial-guess b3.mtx|--initial-guess
--output x.mtx --history x.mtx|the same name
--choices c.txt --output c.txt|the same name
END
# With MUMPS also those of complete factors
if "$tool" solve spd.mtx --device cpu --precond lu --solver fgmres >/dev/null 2>&1; then
    for role in fp16 bf16/fp32 fp32/fp64; do
        expect 2 solve spd.mtx --device cpu --solver fgmres --precond lu --precond-precision $role
        err_has 'of --precond lu is fp32 or fp64, not'
    done
fi
# What is wrong with a matrix or a file stays a matter of input.
expect 3 solve wide.mtx --solver cg
expect 3 solve unsym.mtx --device cpu --rhs b2.mtx
