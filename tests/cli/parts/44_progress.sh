# SPDX-License-Identifier: Apache-2.0
# Progress, which only a terminal gets: iteration, residual, and how many seconds are left.
watch() {
    label="tessera $* (on a terminal)"
    python3 - "$tool" "$@" >screen <<'END' && pass || fail 'the command did not end well'
import os, pty, subprocess, sys
ours, its = pty.openpty()
with subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its) as process:
    os.close(its)
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        sys.stdout.buffer.write(piece)
sys.exit(process.returncode)
END
}
side=500
if [ "${TESSERA_SANITIZED:-0}" = 1 ]; then side=250; fi
watch solve gallery:laplace2d:$side --solver cg --rtol 1e-9 --device cpu
grep -aq 'iteration [0-9]*, residual .*about [0-9]* s left' screen && pass || fail "no estimate: $(head -c 300 screen)"
tail -c 4 screen | grep -aq 'K' && pass || fail 'the line is not taken away at the end'
watch compare gallery:laplace2d:$((3 * side / 5)) \
    --solvers cg,minres --preconds none --precisions fp64 --rtol 1e-12 --device cpu
grep -aq '2 of 2, minres, none: iteration' screen && pass || fail "no name of the solve: $(head -c 300 screen)"
expect 0 solve gallery:laplace2d:200 --solver cg --rtol 1e-12
err_empty
