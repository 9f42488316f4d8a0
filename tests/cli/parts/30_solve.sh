# SPDX-License-Identifier: Apache-2.0
# Solves: results, reasons, exit codes, reports.
expect 0 solve spd.mtx --json solve.json --history history.csv --output x.mtx --timings
err_empty
out_has 'TRUE'
out_has '^right-hand side +ones'
out_has '^timings '
json solve.json 'set("converged reason reason_code iterations relative_residual estimated_relative_residual
    setup_seconds solve_seconds matrix_bytes fp64_csr_bytes resident_bytes peak_device_bytes nonzeros_per_precision
    solver precond format policy engine device version options".split()) <= set(j)'
json solve.json 'j["converged"] is True and j["reason"] == "rtol" and j["reason_code"] == 2 and j["exit_code"] == 0'
json solve.json 'j["relative_residual"] <= 1e-5 and j["policy"] == "none" and j["format"] == "csr"'
json solve.json 'j["solver"] == "cg" and j["nonzeros_per_precision"]["fp64"] == 7'
json solve.json "j['iterations'] + 2 == $(wc -l <history.csv)"
label='history.csv'
[ "$(head -n 1 history.csv)" = 'iteration,residual_norm,relative_residual' ] && pass || fail 'header'
label='x.mtx as an initial guess'
expect 0 solve spd.mtx --initial-guess x.mtx --json again.json
json again.json 'j["iterations"] == 0 and j["converged"] is True'
label='left-over temporary files'
[ -z "$(find . -name '*.json.*' -o -name '*.csv.*')" ] && pass || fail "$(ls)"

json solve.json 'j["recurrence"] == "standard" and j["engine"] == "plain" and j["options"]["recurrence"] == "auto"'
expect 0 solve spd.mtx --device cpu --recurrence one-reduction --json solve.json
out_has '^recurrence +one-reduction'
json solve.json 'j["recurrence"] == "one-reduction" and j["converged"] is True
    and j["options"]["recurrence"] == "one-reduction"'
expect 0 solve spd.mtx --device cpu --recurrence predict-and-recompute --precond jacobi --json solve.json
out_has '^recurrence +predict-and-recompute'
json solve.json 'j["recurrence"] == "predict-and-recompute" and j["converged"] is True'
for recurrence in one-reduction predict-and-recompute; do
    expect 2 solve unsym.mtx --device cpu --solver bicgstab --recurrence $recurrence
    err_has "$recurrence is not available with bicgstab"
done

expect 0 solve spd.mtx.gz
expect 0 solve unsym.mtx --json solve.json
json solve.json 'j["solver"] == "bicgstab"'
expect 0 solve spd.mtx --json -
json out 'j["converged"] is True'
expect 0 solve spd.mtx --rhs zeros3.mtx --json solve.json
json solve.json 'j["iterations"] == 0 and j["residual_norm"] == 0 and j["converged"] is True'
expect 0 solve spd.mtx --rhs a-times-ones --rtol 1e-12 --output x.mtx
out_has '^right-hand side +a-times-ones'
label='the solution of b = A*1'
awk 'NR > 2 && ($1 - 1) ^ 2 > 1e-20 { bad = 1 } END { exit bad }' x.mtx && pass || fail "$(cat x.mtx)"
expect 0 solve identity.mtx --rtol 0 --json solve.json
json solve.json 'j["residual_norm"] == 0 and j["iterations"] <= 2'
for solver in cg bicgstab; do
    for precond in none jacobi block-jacobi block-jacobi:2; do
        for precision in fp64 fp32 bf16 fp16 e4m3 e5m2; do
            expect 0 solve gallery:laplace2d:20 --solver $solver --precond $precond --matrix-precision $precision \
                --rtol 1e-8 --json solve.json
            json solve.json 'j["relative_residual"] <= 1e-8 * (1 + 1e-15)'
        done
    done
done

# not converged
expect 1 solve gallery:laplace2d:30 --max-iterations 3 --json solve.json
out_has 'NOT CONVERGED'
json solve.json 'j["reason"] == "iterations" and j["reason_code"] == -3 and j["iterations"] == 3 and not j["converged"]'
expect 1 solve gallery:laplace2d:30 --rtol 0 --max-iterations 5 --json solve.json
json solve.json 'j["iterations"] == 5 and j["escalated"] is False'
expect 1 solve gallery:laplace2d:30 --max-iterations 0
# the estimate of an ill-conditioned system may lie; what is called converged never does
for options in '--rtol 1e-10' '--rtol 1e-14' '--rtol 1e-14 --guard report' '--rtol 1e-12 --matrix-precision fp32' \
    '--rtol 1e-12 --matrix-precision fp32 --guard report' '--rtol 1e-10 --solver bicgstab'; do
    # shellcheck disable=SC2086
    expect '0|1|5' solve gallery:hilbert:48 $options --max-iterations 500 --json solve.json
    json solve.json 'j["converged"] == (j["exit_code"] == 0)
        and (not j["converged"] or j["residual_norm"] <= j["tolerance"])'
done
expect 1 solve gallery:laplace2d:24 --rhs random:3 --rtol 1e-14 --guard report --solver cg --max-iterations 40

# breakdown
expect 5 solve indefinite.mtx --solver cg --json solve.json
json solve.json 'j["reason_code"] in (-5, -10) and j["exit_code"] == 5'
expect 5 solve no_diagonal.mtx --precond block-jacobi:1 --json solve.json
json solve.json 'j["reason_code"] == -11 and j["detail"]'
out_has 'NOT CONVERGED'
expect '3|5' solve nan.mtx --solver cg
expect '3|5' solve spd.mtx --rhs nan3.mtx --json solve.json
expect '3|5' solve spd.mtx --initial-guess nan3.mtx

# devices
expect 0 solve spd.mtx --device cpu --json solve.json
json solve.json 'j["device"] == "cpu" and j["device_why"] is None'
export CUDA_VISIBLE_DEVICES=
expect 4 solve spd.mtx --device cuda
expect 0 solve spd.mtx --device auto
out_has '^device +cpu: [^;]*$'
expect 0 solve spd.mtx --device auto --json solve.json
json solve.json 'j["device"] == "cpu" and j["device_why"] is None and "--device" not in j["by_hand"]'
unset CUDA_VISIBLE_DEVICES

# presets print what they stand for
expect 0 solve spd.mtx --preset yang --json solve.json
out_has '^preset +yang: .*--rhs=a-times-ones .*--rtol=1e-10'
json solve.json 'j["options"]["preset"] == "yang" and j["options"]["guard"] == "report"
    and j["options"]["max_iterations"] == 1000'
expect 0 solve spd.mtx --rtol 1e-3 --preset yang --json solve.json
json solve.json 'j["options"]["rtol"] == 1e-3'

# random right-hand sides
expect 0 solve spd.mtx --rhs random:7 --rtol 1e-12 --output r7.mtx
out_has '^right-hand side +random:7'
expect 0 solve spd.mtx --rhs random --seed 7 --rtol 1e-12 --output r7b.mtx
expect 0 solve spd.mtx --rhs random:8 --rtol 1e-12 --output r8.mtx
label='random:SEED'
cmp -s r7.mtx r7b.mtx && pass || fail 'random:7 and --seed 7 differ'
cmp -s r7.mtx r8.mtx && fail 'seeds 7 and 8 agree' || pass

# the same bits for any number of threads
expect 0 solve gallery:laplace2d:90 --threads 1 --device cpu --output t1.mtx
expect 0 solve gallery:laplace2d:90 --threads 2 --device cpu --output t2.mtx
label='threads'
cmp -s t1.mtx t2.mtx && pass || fail 'x differs between 1 and 2 threads'

# log, interruption, terminal
label='TESSERA_LOG=loud'
TESSERA_LOG=loud "$tool" solve spd.mtx >out 2>err && pass || fail 'exit'
err_has "TESSERA_LOG is 'loud'"
label='TESSERA_LOG=debug'
TESSERA_LOG=debug "$tool" solve spd.mtx --json - >out 2>err && pass || fail 'exit'
json out 'j["converged"]'

label='SIGINT'
: >err # what was there is no sign that the solve runs
# A shell that ignores SIGINT hands that on, and the program heeds it.
python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    "$tool" solve gallery:laplace2d:100 --rtol 0 --max-iterations 1000000000 --monitor --json int.json >out 2>err &
process=$!
for ((i = 0; i < 500; i++)); do [ -s err ] && break || sleep 0.02; done
kill -INT $process
wait $process
[ $? -eq 1 ] && pass || fail 'exit code'
out_has "interrupted"
json int.json 'j["reason"] == "interrupted" and j["reason_code"] == -105'

if command -v script >/dev/null; then
    label='progress on a terminal'
    script -qec "$tool solve gallery:laplace2d:30" /dev/null >out 2>err </dev/null
    grep -q 'iteration [0-9]*, residual' out && pass || fail 'no progress line'
fi

# where results may go
ln -s linked.json link.json && : >linked.json
expect 0 solve spd.mtx --json link.json
label='--json through a link'
[ -L link.json ] && pass || fail 'the link was replaced'
json linked.json 'j["converged"]'
expect 0 solve spd.mtx --json /dev/null
label='/dev/null'
[ -c /dev/null ] && pass || fail 'it was replaced'
