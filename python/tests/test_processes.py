# SPDX-License-Identifier: Apache-2.0
"""Signals while the library computes, and processes that are forked after it has: each in a process of its own."""
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import tessera_sparse as ts

# A chain of which CG takes as many iterations as there are rows: minutes.
START = """
import os, signal, subprocess, sys, time
import numpy as np, scipy.sparse as sp, tessera_sparse as ts
n = 400000
A = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
b, matrix = np.ones(n), ts.Matrix(A)
options = dict(solver="cg", rtol=1e-12, max_iterations=10**8)
def after(seconds, number):
    subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -{int(number)} {os.getpid()}"])
    return time.time() + seconds
def ends(kind, call, number=signal.SIGINT):
    sent = after(0.15, number)
    try:
        call()
    except kind:
        print("ended", time.time() - sent)
        return
    raise AssertionError("it returned")
"""

ENDED = START + """
ends(KeyboardInterrupt, lambda: ts.solve(matrix, b, **options))
ends(KeyboardInterrupt, lambda: ts.cg(A, b, rtol=1e-12))
ends(KeyboardInterrupt, lambda: ts.solve(matrix, b, monitor=lambda seen: None, **options))
shell = ts.Matrix(sp.linalg.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float))
ends(KeyboardInterrupt, lambda: ts.solve(shell, b, **options))
big = ts.Matrix.gallery("laplace2d", 900)
ends(KeyboardInterrupt, lambda: ts.Preconditioner(big, "ilut:1e-9:400"))
for call in (lambda: ts.solve(matrix, b, progress=True, **options), lambda: ts.gmres(A, b, rtol=1e-12),
             lambda: ts.bicg(A, b, rtol=1e-12), lambda: ts.lsqr(matrix, b, iter_lim=10**8, atol=1e-14, btol=1e-14),
             lambda: ts.solve(matrix, np.ones((n, 2)), **options), lambda: ts.Sequence(matrix, **options).solve(b),
             lambda: ts.cg(A, b, rtol=1e-12, callback=lambda x: None), lambda: ts.spilu(big, 1e-9, 400)):
    ends(KeyboardInterrupt, call)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
def timed_out(number, frame):
    raise TimeoutError
signal.signal(signal.SIGALRM, timed_out)
ends(TimeoutError, lambda: ts.solve(matrix, b, **options), signal.SIGALRM)
small = ts.Matrix.gallery("laplace2d", 20)
assert ts.solve(small, np.ones(400), rtol=1e-10).verified
"""

GOES_ON = START + """
seen = []
signal.signal(signal.SIGINT, lambda number, frame: seen.append(time.time()))
sent = after(0.15, signal.SIGINT)
result = ts.solve(matrix, b, time_limit=0.6, **options)
ended = time.time()
assert result.reason == "time_limit" and len(seen) == 1 and seen[0] < ended - 0.1, (result.reason, seen, ended)
"""

# A handler that raises may run at any line of the callback that watches, and none may end that for good. What a handler
# raises while a function of the caller runs is kept: at the beginning of a callback it would be lost.
RAISING = """
import os, signal, time
import tessera_sparse as ts
from tessera_sparse import _interrupts
class Alarm(Exception):
    pass
def alarm(number, frame):
    if everywhere or frame.f_code is _interrupts._answers.__code__:
        raise Alarm
everywhere, raised, asked = False, [], 0
answers = _interrupts._answers(raised)
next(answers)
signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 1e-4, 5e-4)
end = time.time() + 5
while time.time() < end and len(raised) < 200:
    assert answers.send(None) in (0, 1)
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(raised) == 200, len(raised)
everywhere, context, done = True, ts.Context(device="cpu"), []
def function():
    os.kill(os.getpid(), signal.SIGALRM)
    for _ in range(10):
        done.append(1)
try:
    _interrupts.interruptible(context, function)
except Alarm:
    print("kept", len(done))
assert signal.getsignal(signal.SIGALRM) is alarm and not context.watched
"""

# Python drops what a handler raises within __del__: it is raised anew. Parents are let go all the same.
FINALIZED = """
import os, signal, time
from tessera_sparse._library import Handle
class Alarm(Exception):
    pass
def alarm(number, frame):
    raise Alarm
signal.signal(signal.SIGALRM, alarm)
for number, kind in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGALRM, Alarm)):
    destroyed = []
    def destroy(pointer):
        destroyed.append(pointer)
        os.kill(os.getpid(), number)
        destroyed.append("done")
    parent = Handle(1, destroyed.append)
    child = Handle(2, destroy, [parent])
    del parent
    try:
        del child
        end = time.time() + 20
        while time.time() < end:
            pass
        raise AssertionError("lost")
    except kind:
        print(destroyed)
"""

# A package, in a part of which a signal arrives.
IMPORTED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tessera_sparse._interrupts import import_whole
try:
    import_whole("slow_package.part")
    raise AssertionError("lost")
except KeyboardInterrupt:
    print(import_whole("slow_package.part").rest)
"""

FORKED = """
import concurrent.futures, multiprocessing, os, sys, warnings
import numpy as np, scipy.sparse as sp, tessera_sparse as ts
warnings.simplefilter("ignore", DeprecationWarning)
n = 130
A = ts.Matrix.gallery("laplace2d", n)
context = A.context
def work(k):
    x, info = ts.cg(A, np.full(n * n, 1.0 + k), maxiter=20)
    return info, float(x.sum()), context.threads
if __name__ == "__main__":
    expected = [work(k)[:2] for k in range(4)]
    assert context.threads == 2
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(4)) == [(*each, 1) for each in expected]
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        assert [each[:2] for each in pool.map(work, range(4))] == expected
    child = os.fork()
    if child == 0:
        fine = ts.Context(device="cpu", threads=2).threads == 1 and work(1)[:2] == expected[1]
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert context.threads == 2 and work(0)[:2] == expected[0]
"""


def run(text, *arguments, seconds=120, **environment):
    """The output. A process that hangs is ended."""
    done = subprocess.run([sys.executable, "-c", text, *arguments], timeout=seconds, capture_output=True, text=True,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    assert "ignored" not in done.stderr, done.stderr
    return done.stdout


def test_signals_end_solves_and_setups():
    delays = [float(line.split()[1]) for line in run(ENDED).splitlines()]
    assert len(delays) == 14 and max(delays) < 5  # some 0.05 s on an idle machine


def test_handlers_may_raise_anywhere():
    assert run(RAISING) == "kept 10\n"


def test_finalizers_lose_no_signal():
    assert run(FINALIZED) == "[2, 'done', 1]\n[2, 'done', 1]\n"


def test_imports_are_whole(tmp_path):
    package = tmp_path / "slow_package"
    package.mkdir()
    (package / "__init__.py").write_text("from . import part\n")
    (package / "part.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nrest = 'whole'\n")
    assert run(IMPORTED, str(tmp_path)) == "whole\n"


def test_a_handler_that_raises_nothing_goes_on():
    run(GOES_ON)


def test_fork_after_a_solve():
    run(FORKED, OMP_NUM_THREADS="2")


def test_other_threads_are_not_interrupted():
    import threading
    A, results = ts.Matrix.gallery("laplace2d", 30), []
    thread = threading.Thread(target=lambda: results.append(ts.solve(A, np.ones(900), rtol=1e-10).verified))
    thread.start()
    thread.join()
    assert results == [True]


def test_watching_takes_microseconds():
    A = ts.Solver(sp.csr_array(np.diag([2.0, 3.0])), solver="cg")
    b = np.ones(2)
    from tessera_sparse import _interrupts, _solver
    times = {}
    for name, function in (("with", _interrupts.interruptible), ("without", lambda context, f, *rest: f(*rest))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_solver, "interruptible", function)
            best = 1.0
            for _ in range(20):
                start = time.perf_counter()
                for _ in range(50):
                    A.solve(b)
                best = min(best, (time.perf_counter() - start) / 50)
        times[name] = best
    assert times["with"] - times["without"] < 100e-6, times  # some 10 microseconds
