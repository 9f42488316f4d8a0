# SPDX-License-Identifier: Apache-2.0
# Runs that end early: --time-limit, signals; and that go on: --checkpoint, --resume.
side=600
if [ "${TESSERA_SANITIZED:-0}" = 1 ]; then side=300; fi
slow="gallery:laplace2d:$side --device cpu --rtol 1e-12 --max-iterations 1000000"

# The time limit: within it, with x, JSON, exit 1, also where reading alone takes longer
for options in "" "--solver cg" "--solver gmres --restart 20" "--solver lsqr" "--solver cg --scale symmetric"; do
    expect 1 solve $slow $options --time-limit 0.5 --json stop.json --output x.mtx
    out_has 'NOT CONVERGED: the time limit was reached \(time_limit, -104\)'
    err_has 'not converged: the time limit was reached$'
    json stop.json "j['reason'] == 'time_limit' and j['reason_code'] == -104 and j['exit_code'] == 1 and
        j['time_limit'] == 0.5 and j['relative_residual'] <= 1 and not j['converged'] and j['total_seconds'] < 15"
    [ "$(wc -l <x.mtx)" -eq $((side * side + 2)) ] && pass || fail "x has $(wc -l <x.mtx) lines"
done
expect 1 solve $slow --time-limit 1e-9
expect 0 solve spd.mtx --time-limit 100
expect 2 solve spd.mtx --time-limit 0
expect 2 solve spd.mtx --time-limit x

# Signals: the same, and the reason says so. timeout(1) sends each of them twice at once: the second changes nothing.
for signal in INT TERM HUP; do
    label="solve after SIG$signal"
    rm -f stop.json x.mtx
    # a shell lets background jobs ignore SIGINT; python does not
    python3 - "$tool" $signal $slow --solver cg --json stop.json --output x.mtx --monitor >out 2>err <<'END'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
tool = subprocess.Popen([sys.argv[1], "solve", *sys.argv[3:]], stderr=subprocess.PIPE)
for line in tool.stderr:
    if b"residual" in line:
        break
for _ in range(2):
    tool.send_signal(getattr(signal, "SIG" + sys.argv[2]))
    time.sleep(0.02)
rest = tool.stderr.read()
sys.stderr.write(rest.decode().splitlines()[-1])
sys.exit(tool.wait())
END
    [ $? -eq 1 ] && pass || fail "exit $?"
    out_has 'NOT CONVERGED: interrupted by a signal \(interrupted, -105\)'
    err_has 'interrupted by a signal'
    json stop.json "j['reason'] == 'interrupted' and j['exit_code'] == 1"
    [ -s x.mtx ] && pass || fail "x was not written"
done

# A second signal that comes later ends the tool, here while it waits for a reader of its report.
label="a second signal"
python3 - "$tool" $slow --solver cg --monitor <<'END' 2>err
import os, signal, subprocess, sys, time
reader, writer = os.pipe()
os.set_blocking(writer, False)
try:
    while True:
        os.write(writer, b" " * 512)
except BlockingIOError:
    os.set_blocking(writer, True)
tool = subprocess.Popen([sys.argv[1], "solve", *sys.argv[2:]], stdout=writer, stderr=subprocess.PIPE)
for line in tool.stderr:
    if b"residual" in line:
        break
tool.send_signal(signal.SIGTERM)
time.sleep(1)
if tool.poll() is not None:
    sys.exit("the report was written to a full pipe")
tool.send_signal(signal.SIGTERM)
sys.exit(0 if tool.wait(30) == -signal.SIGTERM else f"exit {tool.returncode}")
END
[ $? -eq 0 ] && pass || fail "$(tail -n 1 err)"

# A signal in a set-up, here of factors that would take minutes, ends it too.
label="a signal in the set-up"
rm -f stop.json
begin=$SECONDS
timeout --preserve-status --signal=TERM --kill-after=60 1 "$tool" solve gallery:laplace3d:60 --device cpu \
    --solver gmres --precond ilut:1e-12:1000 --json stop.json >out 2>err
[ $? -eq 1 ] && pass || fail "another exit code"
[ $((SECONDS - begin)) -le 20 ] && pass || fail "$((SECONDS - begin)) s"
out_has 'NOT CONVERGED: interrupted by a signal \(interrupted, -105\)'
json stop.json "j['reason'] == 'interrupted' and j['iterations'] == 0 and j['exit_code'] == 1"

# Checkpoints: a limit of time leaves one, and pieces of a solve go on from the last iterate of the one before. The
# pieces end by a count of iterations, which no machine's speed changes.
rm -f c.ckpt
expect 1 solve $slow --solver cg --time-limit 0.5 --checkpoint c.ckpt --json stop.json
json stop.json "j['reason'] == 'time_limit' and j['checkpoint'] == 'c.ckpt'"
[ -s c.ckpt ] && pass || fail "no checkpoint at the limit of time"
label="a signal between pieces"
timeout --preserve-status --signal=TERM 1 "$tool" solve $slow --solver cg --checkpoint c.ckpt --checkpoint-every 0.001 \
    >out 2>err
[ $? -eq 1 ] && pass || fail "another exit code"
out_has 'NOT CONVERGED: interrupted by a signal'
rm -f c.ckpt
resume=""
for piece in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$tool" solve gallery:laplace2d:200 --device cpu --solver cg --rtol 1e-9 --max-iterations 150 --checkpoint c.ckpt \
        $resume --json stop.json >out 2>err
    code=$?
    [ $code -eq 1 ] || break
    resume="--resume c.ckpt"
done
[ $piece -ge 4 ] && pass || fail "done after $piece pieces: nothing went on"
label="solve in pieces"
[ $code -eq 0 ] && pass || fail "exit $code after $piece pieces: $(head -c 200 err)"
json stop.json "j['converged'] and j['checkpoint'] == 'c.ckpt'"
expect 0 solve gallery:laplace2d:200 --device cpu --solver cg --rtol 1e-9 --checkpoint c.ckpt --checkpoint-every 0.05 \
    --json stop.json --history h.csv
json stop.json "j['converged'] and j['iterations_before'] == 0"
[ "$(wc -l <h.csv)" -ge 100 ] && pass || fail "the history has $(wc -l <h.csv) lines"
expect 0 solve gallery:laplace2d:200 --device cpu --rtol 1e-9 --resume c.ckpt --json stop.json
json stop.json "j['iterations'] == 0 and j['iterations_before'] > 100 and j['resumed_from'] == 'c.ckpt'"
err_has 'the options have changed since then'
expect 3 solve gallery:laplace2d:201 --device cpu --resume c.ckpt
err_has 'has 40000 values, but the matrix needs 40401'
expect 3 solve gallery:uniflow2d:200 --device cpu --resume c.ckpt
err_has 'belongs to another matrix'
expect 3 solve gallery:laplace2d:200 --device cpu --rhs a-times-ones --resume c.ckpt
err_has 'belongs to another right-hand side'
expect 3 solve gallery:laplace2d:200 --device cpu --resume no.ckpt
head -c 50000 c.ckpt >cut.ckpt
expect 3 solve gallery:laplace2d:200 --device cpu --resume cut.ckpt
err_has 'cut.ckpt: the checkpoint is cut'
expect 3 solve gallery:laplace2d:200 --device cpu --resume spd.mtx
err_has 'no checkpoint'
expect 3 solve spd.mtx --checkpoint no/such/folder
expect 2 solve gallery:laplace2d:200 --device cpu --resume c.ckpt --output c.ckpt
err_has "would replace a file that the command reads"
expect 2 solve spd.mtx --checkpoint-every 5
expect 2 solve spd.mtx --resume c.ckpt --initial-guess b3.mtx

# Time steps: the pieces make what one run makes
steps="gallery:ventricle:2000 --device cpu --steps fp32:100,mixed:200,fp64:100 --initial random:3"
expect 0 timestep $steps --output whole.mtx
expect 1 timestep $steps --time-limit 1e-6 --checkpoint t.ckpt --json stop.json
json stop.json "j['reason'] == 'time_limit' and 0 < j['count'] < 400"
err_has 'stopped after [0-9]+ of 400 time steps: the time limit was reached'
expect 0 timestep $steps --resume t.ckpt --checkpoint t.ckpt --output pieces.mtx --json stop.json
json stop.json "j['reason'] is None and j['count'] == 400 and j['iterations_before'] > 0"
cmp -s whole.mtx pieces.mtx && pass || fail "the pieces make another x"
expect 3 timestep gallery:ventricle:2000 --device cpu --steps fp64:400 --initial random:3 --resume t.ckpt
err_has 'made with other options'
expect 2 timestep $steps --compare --resume t.ckpt

# No limit, as in C and Python.
expect 0 solve gallery:laplace2d:10 --device cpu --time-limit auto --json stop.json
json stop.json "j['time_limit'] is None"
expect 0 timestep gallery:laplace1d:9 --device cpu --count 2 --time-limit auto
expect 2 solve gallery:laplace2d:10 --time-limit 0

# Memory: by part, and refused where it cannot fit
expect 0 info gallery:laplace2d:100 --solve=gmres,ilu0 --json memory.json
out_has '^memory of a solve gmres with preconditioner ilu0: about'
json memory.json "j['solve_memory']['fits'] and j['solve_memory']['total'] == sum(j['solve_memory'][k] for k in
    ('stored', 'precond_bytes', 'setup', 'vectors', 'history')) and j['solve_memory']['vectors'] > 51 * 8 * 10000"
expect 0 info gallery:laplace2d:100 --solve=cg,fsai --json memory.json
out_has 'preconditioner [0-9.]+ [kM]B and [0-9.]+ [kM]B to set it up, stored matrix'
json memory.json "j['solve_memory']['setup'] > 12 * j['nnz']"
expect 0 info gallery:laplace2d:100 --solve
expect 0 info gallery:laplace2d:100 --json memory.json
json memory.json "j['solve_memory'] is None"
for precond in cholesky lu; do # their size is known by an analysis, or not at all
    expect 0 info gallery:laplace2d:20 --solve=fgmres,$precond --json memory.json
    out_has 'preconditioner ([1-9][0-9.]* k?B|unknown), '
    json memory.json "j['solve_memory']['precond_bytes'] is None or 20000 < j['solve_memory']['precond_bytes'] < 200000"
done
for line in "spd.mtx --solve cg" "--solve gmres,ilu0 spd.mtx" "--solve cg"; do # its value follows =
    # shellcheck disable=SC2086
    expect 2 info $line
    err_has "^tessera info: '(cg|gmres,ilu0)' is no matrix; write --solve=(cg|gmres,ilu0)"
done
expect 2 info spd.mtx --solve other.mtx
err_has 'one matrix at a time'
expect 2 info gallery:laplace2d:100 --solve=nothing
err_has "unknown value 'nothing'"
expect 2 info gallery:laplace2d:100 --solve=cg,nothing
expect 0 info gallery:laplace2d:100 --solve=gmres,ilu0 --restart 20 --json memory.json
json memory.json "j['solve_memory']['vectors'] < 40 * 8 * 10000"
expect 0 info gallery:laplace2d:100 --solve --solver gmres --precond ilu0 --restart 20 --json other.json
json other.json "{**j['solve_memory'], 'spare': 0} ==
    {**__import__('json').load(open('memory.json'))['solve_memory'], 'spare': 0}"
json other.json "[a['options'] for a in j['recommendation']['attempts']] == ['--solver gmres --precond ilu0']"
out_has '^recommendation +as the options ask$'
# of several columns: cut into loops; arrays of b and x; the solve takes as many together
expect 0 info gallery:laplace2d:100 --solve=cg,jacobi --columns 20 --json memory.json
out_has '^ +20 columns in 3 loops of up to 8: '
json memory.json "(lambda m: m['columns'] == 20 and m['columns_together'] == 8 and m['arrays'] == 20 * 2 * 8 * 10000
    and m['total'] == sum(m[k] for k in ('stored', 'precond_bytes', 'vectors', 'history', 'loop', 'arrays')) and
    m['setup'] == 0 and m['loop'] > 8 * 8 * 8 * 10000)(j['solve_memory'])"
expect 0 info gallery:laplace2d:100 --solve=cg,jacobi --columns 6
out_has '^ +6 columns in one loop: '
expect 0 info gallery:laplace2d:100 --solve=gmres,ilu0 --columns 4 --json memory.json
out_has '^ +4 columns one after another: '
expect 2 info gallery:laplace2d:20 --columns 4
err_has '--columns is for the memory of a solve; give --solve too'
expect 2 info gallery:laplace2d:20 --solve --columns 0
expect 0 info gallery:laplace2d:20 --solve=cg,amg --amg-cycle w --json memory.json
json memory.json "j['solve_memory']['precond'] == 'amg' and j['amg'] is None"
json memory.json "j['recommendation']['precond'] != 'amg'"
expect 0 info gallery:laplace2d:20 --solve --scale rows --json memory.json
json memory.json "[a['options'] for a in j['recommendation']['attempts']] == ['--solver auto --scale rows']"
json memory.json "j['solve_memory']['solver'] == 'cg'"
for engine in graph single-kernel; do # as solve, which ends with 4 where there is no GPU
    expect '0|4' info gallery:laplace2d:20 --engine $engine
    grep -q . err && err_has "engine $engine needs a GPU, but none can be used here"
done
expect 0 info gallery:laplace2d:20 --solve=auto,amg --json memory.json
json memory.json "j['solve_memory']['solver'] == 'cg' and j['solve_memory']['precond'] == 'amg'"
expect 0 info gallery:laplace2d:20 --precond amg --amg-cycle w --json memory.json
json memory.json "all(a['options'].endswith('--precond amg --amg-cycle w') for a in j['recommendation']['attempts'])"
# the matrix of the iterations counts where its storage is named
for storage in '--matrix-precision fp32' '--format split --policy mean-range'; do
    # shellcheck disable=SC2086
    expect 0 info gallery:laplace2d:20 --solve=cg $storage --json memory.json
    json memory.json "j['solve_memory']['stored'] > 0"
done
expect 0 info gallery:laplace2d:20 --solve=cg --policy mean-range --json memory.json
json memory.json "j['solve_memory']['stored'] == 0 and j['assignment'] is not None"
expect 0 info gallery:nan:50 --solve --json memory.json
out_has '^memory of a solve none: NaN or Inf in the matrix$'
json memory.json "j['solve_memory'] is None"
if [ -n "${TESSERA_FAILING_MALLOC:-}" ]; then # not in builds with sanitizers, which take all address space
    label="solve in 1 GB of address space"
    (
        ulimit -v 1000000
        OMP_NUM_THREADS=1 "$tool" solve gallery:laplace2d:500 --device cpu --solver gmres --restart 1000 >out 2>err
    )
    code=$?
    [ $code -eq 4 ] && pass || fail "exit $code"
    err_has 'takes about [0-9.]+ GB more, but only [0-9.]+ GB are left: [0-9.]+ GB for vectors'
fi
