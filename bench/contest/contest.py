#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Solves of other libraries and ours on the same systems, each at its recommended settings, each in a process of its own.

    contest.py --device cpu --json host.jsonl                              all that is found, on the problems of a host
    contest.py --problems laplace3d:64,FILE.mtx --peers 'tessera,hypre:*'  some
    contest.py --list                                                      what is found, with versions

b = A x, x0 = 0, to --rtol of ||b|| in the 2-norm. Matrix, b and x are where the library computes. `cold` is the first
set-up and solve of the process, after the device is awake; `warm` the median of later ones, each with its set-up. The
residual is computed here in FP64 from x, and decides: `claimed` is what the library says of itself. Joules are those
of a second or more of warm solves. A library's failure is a record too. None of the peers is part of this repository;
--how says where to get them.
"""
import argparse
import datetime
import fnmatch
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import energy
import libraries
import problems

ON_A_HOST = ("laplace3d:40,laplace3d27:32,jump3d:24,anisotropic2d:200:0.001:30,elasticity3d:12,recirc2d:200:1:0.01,"
             "bentpipe2d:150,stokes2d:82")
ON_A_GPU = ("laplace3d:64,laplace3d:150,laplace3d:256,laplace3d27:128,jump3d:48,anisotropic2d:600:0.001:30,"
            "elasticity3d:24,elasticity3d:48,convdiff3d:100,recirc2d:600:1:0.01,stokes2d:208,stokes3d:37")
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


def measure_energy(solver, meter, least):
    """Joules of a set-up and solve, by as many as take `least` seconds."""
    before, begin, count = meter.read(), time.perf_counter(), 0
    if before is None:
        return None
    while time.perf_counter() - begin < least:
        solve_once(solver)
        count += 1
    return (meter.read() - before) / count


def run_one(options):
    """One contestant on one problem; prints its record."""
    problem = problems.Problem(options.problem)
    record = {"problem": problem.name, "n": problem.n, "nnz": int(problem.matrix.nnz), "kind": problem.kind,
              "contestant": options.one, "device": options.device, "rtol": options.rtol}
    solver = libraries.make(options.one, problem, options)
    record["version"] = solver.version
    solver.wait()
    record["cold"] = solve_once(solver)
    warm, begin = [], time.perf_counter()
    while len(warm) < options.repeat and (not warm or time.perf_counter() - begin < options.seconds):
        warm.append(solve_once(solver))
    middle = statistics.median(sum(pair) for pair in warm)
    record["warm"] = min(warm, key=lambda pair: abs(sum(pair) - middle))
    x = solver.answer()
    residual = float(libraries.norm(problem.b - problem.matrix @ x) / libraries.norm(problem.b))
    record.update(iterations=solver.iterations, claimed=bool(solver.claimed), residual=residual,
                  solved=bool(residual <= options.rtol * TOLERANCE_OF_CHECK), choice=solver.choice)
    record["false_claim"] = record["claimed"] and not record["solved"]
    if record["solved"] and options.joules > 0.0:
        record["joules"] = measure_energy(solver, energy.Meter(options.device == "cuda"), options.joules)
    print("RECORD " + json.dumps(record), flush=True)


def describe(record):
    if "failure" in record:
        return record["failure"].splitlines()[-1][:100] if record["failure"] else "no word"
    times = "cold {:.4g} + {:.4g} s, warm {:.4g} + {:.4g}".format(*record["cold"], *record["warm"])
    word = "solved" if record["solved"] else "FALSE CLAIM" if record["false_claim"] else "not solved"
    joules = "" if record.get("joules") is None else f", {record['joules']:.3g} J"
    return f"{times}, {record['iterations']} it, {record['residual']:.1e} {word}{joules}"


def run_in_process(name, contestant, path, options):
    command = [options.python.get(contestant.split(":")[0], sys.executable), __file__, "--one", contestant,
               "--problem", str(path), "--device", options.device, "--rtol", repr(options.rtol),
               "--repeat", str(options.repeat), "--seconds", str(options.seconds), "--joules", str(options.joules)]
    for library, place in options.libraries.items():
        command += ["--library", f"{library}={place}"]
    failure = None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, check=False)
        for line in done.stdout.splitlines():
            if line.startswith("RECORD "):
                return json.loads(line[7:])
        failure = done.stderr.strip() or f"exit {done.returncode}"
    except subprocess.TimeoutExpired:
        failure = f"not done in {options.limit} s"
    return {"problem": name, "contestant": contestant, "device": options.device, "rtol": options.rtol,
            "failure": failure[-400:]}


def commit_here():
    done = subprocess.run(["git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def chosen_of(kind, options):
    """The contestants for such a matrix."""
    patterns = options.peers.split(",")
    return [name for name in libraries.contestants(kind, options)
            if any(fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(name.split(":")[0], p) for p in patterns)]


def run_all(options):
    names = options.problems or (ON_A_GPU if options.device == "cuda" else ON_A_HOST)
    head = {"program": "contest.py", "commit": options.commit or commit_here(), "device": options.device,
            "hardware": libraries.hardware(options.device),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    out = open(options.json, "a", encoding="utf-8") if options.json else None
    print(json.dumps(head), file=out, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names.split(","):
            path = problems.make(name, folder)
            problem = problems.Problem(path)
            print(f"{problem.name}: {problem.n:,} unknowns, {problem.kind}", flush=True)
            for contestant in chosen_of(problem.kind, options):
                record = run_in_process(problem.name, contestant, path, options)
                print(f"  {contestant:<28} {describe(record)}", flush=True)
                if out:
                    print(json.dumps(record), file=out, flush=True)
            path.unlink()


def pairs(items):
    return dict(item.split("=", 1) for item in items or ())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", help="names of the gallery and files, with commas")
    parser.add_argument("--peers", default="*", help="libraries or LIBRARY:SETTING, patterns with commas")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rtol", type=float, default=1e-8)
    parser.add_argument("--repeat", type=int, default=3, help="warm solves (3)")
    parser.add_argument("--seconds", type=float, default=10.0, help="no new warm solve after so long (10)")
    parser.add_argument("--joules", type=float, default=0.0, help="seconds of solves to take the energy of (0: none)")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a contestant on a problem (120)")
    parser.add_argument("--library", action="append", help="NAME=FILE: hypre, amgx")
    parser.add_argument("--python-of", action="append", help="NAME=FILE: the Python that has this library")
    parser.add_argument("--json", help="append records to this file")
    parser.add_argument("--commit", help="where git cannot say")
    parser.add_argument("--list", action="store_true", help="the contestants, and end")
    parser.add_argument("--how", action="store_true", help="where to get the peers, and end")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--problem", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.libraries, options.python = pairs(options.library), pairs(options.python_of)
    if options.how:
        print(libraries.HOW, end="")
    elif options.one:
        run_one(options)
    elif options.list:
        for kind in (problems.SPD, problems.SYMMETRIC, problems.UNSYMMETRIC):
            print(f"{kind}: " + ", ".join(chosen_of(kind, options)))
    else:
        run_all(options)


if __name__ == "__main__":
    main()
