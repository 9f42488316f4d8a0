#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Solves of other libraries and ours on the same systems, each at its recommended settings, each in a process of its own.

    contest.py --device cpu --json host.jsonl                              all that is found, on the problems of a host
    contest.py --matrices FOLDER --problems real                           the twelve real matrices in problems.py
    contest.py --problems laplace3d:64,FILE.mtx --peers 'tessera,hypre:*'  some
    contest.py --problems laplace3d:40 --rhs 32                            of libraries that take several b
    contest.py --list                                                      what is found

b = A x, x0 = 0, to --rtol of ||b|| in the 2-norm. Matrix, b and x are where the library computes. `cold` is the first
set-up and solve of the process, after the device is awake; `warm` the median of later ones, each with its set-up. The
residual is computed here in FP64 from x, and decides; of several right-hand sides the worst counts. `claimed` is what
the library says of itself, null where it was told no tolerance in this norm. A setting that stops by another norm
gets the largest power of ten times --rtol that meets it, `rtol_given`, down to 1e-5 of it. All get --threads threads;
where other programs run too, OMP_WAIT_POLICY=passive keeps these from waiting for one another. Joules are those of
--joules seconds or more of warm solves. A library's failure and a matrix that is not there are records too. None of
the peers is part of this repository; --how says where to get them. `bench/report.py contest host.jsonl` makes tables.
"""
import argparse
import datetime
import fnmatch
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import energy
import libraries
import problems
from base import norm

ON_A_HOST = ("laplace3d:40", "laplace3d27:32", "randomdiffusion3d:32:3", "anisotropic2d:200:0.001:30",
             "elasticity3d:12", "bare-elasticity3d:12", "recirc2d:200:1:0.01", "bentpipe2d:150", "stokes2d:82",
             "powerlaw:20000")
ON_A_GPU = ("laplace3d:64", "laplace3d:150", "laplace3d:256", "laplace3d27:128", "randomdiffusion3d:100:3",
            "anisotropic2d:600:0.001:30", "elasticity3d:24", "elasticity3d:48", "bare-elasticity3d:48",
            "recirc2d:600:1:0.01", "bentpipe2d:600", "uniflow2d:1000:1:1e-4:0.5", "stokes2d:208", "stokes3d:37",
            "powerlaw:200000")
READY = "READY"
TOLERANCE_OF_CHECK = 1.0 + 1e-6  # of the residual computed here beside the library's own


def solve_once(solver):
    """Seconds of set-up and of the solve."""
    begin = time.perf_counter()
    solver.setup()
    solver.wait()
    middle = time.perf_counter()
    solver.solve()
    solver.wait()
    return middle - begin, time.perf_counter() - middle


def first_solve(solver, residual_of):
    """Its times, and the tolerance that a setting got which stops by another norm."""
    times = solve_once(solver)
    rtol, least = solver.rtol, 1e-4 * solver.rtol
    while (solver.setting in solver.OTHER_NORM and solver.rtol > least
           and solver.agreed(residual_of(solver.answer()) > rtol)):
        solver.rtol *= 0.1
        times = solve_once(solver)
    return times


def measure_energy(solver, meter, least):
    """Joules of a set-up and solve, by as many as take `least` seconds."""
    before, begin, count = meter.read(), time.perf_counter(), 0
    if solver.agreed(before is None):
        return None
    while solver.agreed(time.perf_counter() - begin < least):
        solve_once(solver)
        count += 1
    return (meter.read() - before) / count


def run_one(options):
    """One contestant on one problem; prints its record."""
    problem = problems.Problem(options.problem)
    libraries.load(options.one, options)
    print(READY, flush=True)
    sys.stdin.readline()  # one at a time from here on

    def residual_of(x):
        columns = [x] if x.ndim == 1 else x.T
        return max(float(norm(b - problem.matrix @ own) / norm(b)) for b, own in zip(problem.columns(), columns))

    record = {"problem": problem.name, "n": problem.n, "nnz": int(problem.matrix.nnz), "kind": problem.kind,
              "contestant": options.one, "device": options.device, "rtol": options.rtol, "rhs": options.rhs}
    solver = libraries.make(options.one, problem, options)
    record["version"] = solver.version
    solver.wait()
    record["cold"] = first_solve(solver, residual_of)
    if solver.rtol != options.rtol:
        record["rtol_given"] = solver.rtol
    warm, begin = [], time.perf_counter()
    while solver.agreed(len(warm) < options.repeat and (not warm or time.perf_counter() - begin < options.seconds)):
        warm.append(solve_once(solver))
    middle = statistics.median(sum(pair) for pair in warm)
    record["warm"] = min(warm, key=lambda pair: abs(sum(pair) - middle))
    residual = residual_of(solver.answer())
    record.update(iterations=solver.iterations, claimed=solver.claimed, residual=residual,
                  solved=bool(residual <= options.rtol * TOLERANCE_OF_CHECK), choice=solver.choice)
    record["false_claim"] = record["claimed"] is True and not record["solved"]
    if record["solved"] and options.joules > 0.0:
        record["joules"] = measure_energy(solver, energy.Meter(options.device == "cuda"), options.joules)
    if solver.is_first:
        print("RECORD " + json.dumps(record), flush=True)


def run_or_tell(options):
    """An exception ends the process at once: another one of the same contestant may wait for it."""
    try:
        run_one(options)
    except Exception as error:  # whatever a library raises is its record
        print("FAILURE " + json.dumps("".join(traceback.format_exception_only(error)).strip()), flush=True)
        os._exit(1)


def describe(record):
    if "failure" in record:
        lines = [line for line in record["failure"].splitlines() if any(map(str.isalpha, line))]
        return lines[-1].strip()[:100] if lines else "no word"
    times = "cold {:.4g} + {:.4g} s, warm {:.4g} + {:.4g}".format(*record["cold"], *record["warm"])
    word = "solved" if record["solved"] else "FALSE CLAIM" if record["false_claim"] else "not solved"
    joules = "" if record.get("joules") is None else f", {record['joules']:.3g} J"
    return f"{times}, {record['iterations']} it, {record['residual']:.1e} {word}{joules}"


def finish(child, limit):
    """Lets a process go on. Exit status, stdout and stderr; the status is None where it was not done in time."""
    with child:
        try:
            out, err = child.communicate("\n", timeout=limit)
            return child.returncode, out, err
        except subprocess.TimeoutExpired:
            child.terminate()  # mpiexec ends its processes then
        try:
            child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
        return None, "", ""


def start(contestant, path, options):
    """A process that loads its library and the problem, and waits for a line before it touches a device."""
    library = contestant.split(":")[0]
    begin, environment = libraries.launcher(library, options)
    command = [*begin, libraries.python_of(library, options), __file__, "--one", contestant, "--problem", str(path)]
    for word in ("device", "rtol", "rhs", "repeat", "seconds", "joules"):
        command += ["--" + word, str(getattr(options, word))]
    for key, place in options.libraries.items():
        command += ["--library", f"{key}={place}"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)


def wait_until_ready(child, limit):
    """A process that ends before, or is not ready in time, tells by its exit."""
    timer = threading.Timer(limit, child.kill)
    timer.start()
    try:
        while child.stdout.readline().strip() not in (READY, ""):
            pass
    finally:
        timer.cancel()


def started(contestants, path, options):
    """(contestant, its process) in turn. Some load at once, but none while another one solves."""
    for first in range(0, len(contestants), options.at_once):
        batch = [(contestant, start(contestant, path, options))
                 for contestant in contestants[first:first + options.at_once]]
        try:
            for _, child in batch:
                wait_until_ready(child, options.limit)
            while batch:
                yield batch.pop(0)
        finally:
            for _, child in batch:
                child.kill()
                child.communicate()


def record_of(name, contestant, child, options):
    code, out, err = finish(child, options.limit)
    failure = f"not done in {options.limit:g} s" if code is None else err.strip() or f"exit {code}"
    for word, _, text in (line.partition(" ") for line in out.splitlines()):
        if word == "RECORD":
            return json.loads(text)
        if word == "FAILURE":
            failure = json.loads(text)
    return {"problem": name, "contestant": contestant, "device": options.device, "rtol": options.rtol,
            "rhs": options.rhs, "failure": failure[-400:]}


def commit_here():
    done = subprocess.run(["git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def chosen_of(kind, options):
    """The contestants for such a matrix."""
    patterns = options.peers.split(",")
    return [name for name in libraries.contestants(kind, options)
            if any(fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(name.split(":")[0], p) for p in patterns)]


def names_of(options):
    """The problems: `host`, `gpu` and `real` stand for those of problems.py."""
    groups = {"host": ON_A_HOST, "gpu": ON_A_GPU, "real": tuple(problems.REAL)}
    asked = options.problems or ("gpu" if options.device == "cuda" else "host") + (",real" if options.matrices else "")
    return [name for word in asked.split(",") for name in groups.get(word, (word,))]


def run_all(options):
    head = {"program": "contest.py", "commit": options.commit or commit_here(), "device": options.device,
            "hardware": libraries.hardware(options.device), "threads": options.threads, "rhs": options.rhs,
            "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY", "not set"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    out = open(options.json, "a", encoding="utf-8") if options.json else None
    print(json.dumps(head), file=out, flush=True)

    def keep(record):
        if out:
            print(json.dumps(record), file=out, flush=True)

    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names_of(options):
            try:
                path = problems.make(name, folder, options.rhs, options.matrices)
            except (OSError, ValueError, RuntimeError) as error:  # ts.TesseraError is a RuntimeError
                print(f"{name}: skipped: {error}", flush=True)
                keep({"problem": name, "device": options.device, "rhs": options.rhs, "skipped": str(error)})
                continue
            problem = problems.Problem(path)
            print(f"{problem.name}: {problem.n:,} unknowns, {problem.kind}", flush=True)
            for contestant, child in started(chosen_of(problem.kind, options), path, options):
                record = record_of(problem.name, contestant, child, options)
                print(f"  {contestant:<28} {describe(record)}", flush=True)
                keep(record)
                ran += 1
            path.unlink()
    if ran == 0:
        sys.exit("nothing ran: no problem could be made, or nobody takes it")


def pairs(parser, word, items):
    """{NAME: FILE} of an option that may be given several times."""
    wrong = [item for item in items or () if "=" not in item]
    if wrong:
        parser.error(f"{word} {wrong[0]}: NAME=FILE is needed")
    return dict(item.split("=", 1) for item in items or ())


def number(kind, least):
    """What argparse takes as a number from `least` on."""
    def take(text):
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return value
    return take


def check(parser, options):
    """What would fail later, or run nothing."""
    known = {*libraries.PYTHON, *libraries.NATIVE}
    for word, given in (("--library", options.libraries), ("--python-of", options.python)):
        for name in given:
            if name not in known:
                parser.error(f"{word} {name}: the libraries are {', '.join(sorted(known))}")
    if options.device == "cuda" and importlib.util.find_spec("cupy") is None:
        parser.error("--device cuda needs CuPy (pip install cupy-cuda13x), which holds the arrays on the device")
    if options.json and not pathlib.Path(options.json).resolve().parent.is_dir():
        parser.error(f"--json {options.json}: there is no such folder")
    if not any(chosen_of(kind, options) for kind in (problems.SPD, problems.SYMMETRIC, problems.UNSYMMETRIC)):
        parser.error(f"--peers {options.peers}: none of these is found; --list names what is")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", help="names of the gallery and files, with commas; host, gpu, real")
    parser.add_argument("--matrices", help="the folder of the real matrices, NAME.mtx.gz")
    parser.add_argument("--rhs", type=number(int, 1), default=1, help="right-hand sides (1)")
    parser.add_argument("--threads", type=number(int, 1), default=len(os.sched_getaffinity(0)),
                        help="threads of each contestant (the cores)")
    parser.add_argument("--peers", default="*", help="libraries or LIBRARY:SETTING, patterns with commas")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rtol", type=number(float, 0.0), default=1e-8)
    parser.add_argument("--repeat", type=number(int, 1), default=3, help="warm solves (3)")
    parser.add_argument("--seconds", type=number(float, 0.0), default=10.0,
                        help="no new warm solve after so long (10)")
    parser.add_argument("--joules", type=number(float, 0.0), default=0.0,
                        help="seconds of solves to take the energy of (0: none)")
    parser.add_argument("--limit", type=number(float, 0.001), default=120.0,
                        help="seconds for a contestant on a problem (120)")
    parser.add_argument("--at-once", type=number(int, 1), default=4,
                        help="processes that load at once, before they solve (4)")
    parser.add_argument("--library", action="append", help="NAME=FILE: hypre, amgx, amgcl, cudss, ginkgo")
    parser.add_argument("--python-of", action="append", help="NAME=FILE: the Python that has this library")
    parser.add_argument("--json", help="append records to this file")
    parser.add_argument("--commit", help="where git cannot say")
    parser.add_argument("--list", action="store_true", help="the contestants, and end")
    parser.add_argument("--how", action="store_true", help="where to get the peers, and end")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--problem", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.libraries = pairs(parser, "--library", options.library)
    options.python = pairs(parser, "--python-of", options.python_of)
    if options.how:
        print(libraries.HOW, end="")
        return
    if options.one:
        run_or_tell(options)
        return
    check(parser, options)
    if options.list:
        for kind in (problems.SPD, problems.SYMMETRIC, problems.UNSYMMETRIC):
            print(f"{kind}: " + ", ".join(chosen_of(kind, options)))
    else:
        run_all(options)


if __name__ == "__main__":
    main()
