#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solves every square matrix of a folder with the default options, and some by named ones.

    defaults.py --tool build/release/tessera FOLDER [--rtol 1e-8] [--limit 60] [--search] [--names A,B] > records.jsonl

FOLDER has NAME.mtx or NAME.mtx.gz; NAME.rhs.mtx is its right-hand side, else b = A 1 is taken. Each solve is a process
of its own, without a file of choices. A record is a line of JSON: the matrix, the options, the exit code, what the
report says, and the time from start to end.

--search adds the methods of SEARCH, in FP64 and with low precisions, and the default options with a file of choices
that an earlier run has written (kind `warm`). A method is stopped after ten times the time of the default options, and
after 2 s at least. What comes within twice the best time runs again, up to --repeat times; the fastest run counts.
`defaults.py --summary records.jsonl` prints the tables of docs/results/automatic.md. Times are set-up and solve as the
tool reports them, trials included, without reading the file; CPU seconds are those of the whole process.

    defaults.py --tool TOOL --gallery laplace3d:100,elasticity3d:30 --kinds fp64 [--times 2] --search > records.jsonl

takes problems of the gallery in place of files, for matrices larger than the caches. --kinds leaves the rest of SEARCH
out; `auto64` and `csr` are the default options with --precision fp64 and with --format csr, in turn with the default
options themselves. --times stops a method after so many times the time of the default options.

    defaults.py --tool TOOL FOLDER --device cuda --jobs 8 --seconds 150 [--search --search-names A,B] > records.jsonl

solves on a GPU: several processes beside one another, the largest files first. Nothing is started after --seconds.
There --search takes the methods of DEVICE_SEARCH, once each. A line for each matrix goes to stderr.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

FP64 = [
    ["--solver", "cg"],
    ["--solver", "cg", "--precond", "jacobi"],
    ["--solver", "cg", "--precond", "ic0"],
    ["--solver", "cg", "--precond", "ict"],
    ["--solver", "cg", "--precond", "cholesky", "--precond-precision", "fp64"],
    ["--solver", "cg", "--precond", "amg", "--amg-precision", "fp64"],
    ["--solver", "minres"],
    ["--solver", "minres", "--precond", "jacobi"],
    ["--solver", "bicgstab", "--precond", "jacobi"],
    ["--solver", "bicgstab", "--precond", "ilu0"],
    ["--solver", "bicgstab", "--precond", "amg", "--amg-precision", "fp64"],
    ["--solver", "gmres", "--precond", "jacobi"],
    ["--solver", "gmres", "--precond", "ilut", "--scale", "max-product"],
    ["--solver", "idr", "--precond", "ilu0"],
    ["--solver", "fgmres", "--precond", "lu", "--precond-precision", "fp64"],
]
LOW = [
    ["--solver", "cg", "--precond", "jacobi", "--format", "auto", "--policy", "lossless"],
    ["--solver", "cg", "--precond", "ic0", "--precond-precision", "fp32/fp64"],
    ["--solver", "cg", "--precond", "cholesky"],
    ["--solver", "cg", "--precond", "amg"],
    ["--solver", "bicgstab", "--precond", "jacobi", "--format", "auto", "--policy", "lossless"],
    ["--solver", "bicgstab", "--precond", "ilu0", "--precond-precision", "fp32/fp64"],
    ["--solver", "fgmres", "--precond", "lu"],
    ["--solver", "gmres-ir", "--precond", "jacobi"],
]
# The default options without some of what they may choose.
LESS = [("auto64", ["--precision", "fp64"]), ("csr", ["--format", "csr"])]
SEARCH = LESS + [("fp64", options) for options in FP64] + [("low", options) for options in LOW]
# On a GPU, where a search shares the time that the device is lent for.
DEVICE_SEARCH = [
    *LESS,
    ("fp64", ["--solver", "cg", "--precond", "jacobi"]),
    ("low", ["--solver", "cg", "--precond", "amg"]),
    ("fp64", ["--solver", "cg", "--precond", "amg", "--amg-precision", "fp64"]),
    ("low", ["--solver", "cg", "--precond", "cholesky"]),
    ("fp64", ["--solver", "minres", "--precond", "jacobi"]),
    ("fp64", ["--solver", "bicgstab", "--precond", "jacobi"]),
    ("low", ["--solver", "bicgstab", "--precond", "ilu0", "--precond-precision", "fp32/fp64"]),
    ("low", ["--solver", "bicgstab", "--precond", "amg"]),
    ("fp64", ["--solver", "bicgstab", "--precond", "amg", "--amg-precision", "fp64"]),
    ("low", ["--solver", "gmres-ir", "--precond", "amg"]),
    ("fp64", ["--solver", "gmres", "--precond", "amg", "--amg-precision", "fp64"]),
    ("low", ["--solver", "gmres", "--precond", "ilut", "--scale", "max-product"]),
    ("low", ["--solver", "fgmres", "--precond", "lu"]),
    ("fp64", ["--solver", "fgmres", "--precond", "lu", "--precond-precision", "fp64"]),
]
REPORTED = ("verified", "reason", "relative_residual", "iterations", "solver", "precond", "setup_seconds",
            "solve_seconds", "why", "threads", "device")
LEAST_SECONDS = 2.0  # less than this is not worth the start of a process
output = threading.Lock()


def problems_of(arguments):
    """Names and paths: files of the folder, or problems of the gallery."""
    if arguments.gallery:
        return [(name, f"gallery:{name}") for name in arguments.gallery.split(",")]
    return list(files_of(arguments.folder, arguments.names.split(",") if arguments.names else ()))


def files_of(folder, names):
    for path in sorted(pathlib.Path(folder).iterdir()):
        name = path.name.removesuffix(".gz").removesuffix(".mtx")
        if not path.name.endswith((".mtx", ".mtx.gz")) or name.endswith((".rhs", ".coords")):
            continue
        if not names or name in names:
            yield name, path


def solve(arguments, path, limit, options, choices="none"):
    """The record of one process. A code of None: it was stopped at the limit."""
    command = [arguments.tool, "solve", str(path), "--rtol", str(arguments.rtol), "--rhs", rhs_of(path),
               "--device", arguments.device, "--choices", choices, "--json", "-", *options]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False,
                              env=environment_of(arguments))
        code, text, error = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, text, error = None, "", ""
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = json.loads(text) if text.startswith("{") else {}
    return {"code": code, "seconds": seconds, "cpu_seconds": cpu if arguments.jobs == 1 else None,
            "error": error.strip()[-300:], "n": report.get("n"), "nnz": report.get("nnz"),
            **{key: report.get(key) for key in REPORTED}}


def rhs_of(path):
    if isinstance(path, str):
        return "random"  # A 1 is all but solved by multigrid, whose coarse levels hold constants
    rhs = path.with_name(path.name.removesuffix(".gz").removesuffix(".mtx") + ".rhs.mtx")
    return str(rhs) if rhs.exists() else "a-times-ones"


def environment_of(arguments):
    """Processes beside one another share the cores."""
    if arguments.jobs == 1:
        return None
    threads = str(max(1, (os.cpu_count() or 1) // arguments.jobs))
    return {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", threads)}


@functools.lru_cache(maxsize=1)
def manifest_of(folder):
    """Rows and columns by name, from a table of the folder; {}: there is none."""
    path = pathlib.Path(folder) / "MANIFEST.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    return {fields[0]: fields[1] == fields[2] for fields in (line.split("\t") for line in lines) if len(fields) > 2}


def is_square(path, tool):
    if isinstance(path, str):
        return True
    name = path.name.removesuffix(".gz").removesuffix(".mtx")
    if name in manifest_of(path.parent):
        return manifest_of(path.parent)[name]
    done = subprocess.run([tool, "info", str(path), "--json", "-"], capture_output=True, text=True, check=False)
    info = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return info and info.get("nrows") == info.get("ncols")


def emit(name, kind, options, record):
    with output:
        print(json.dumps({"matrix": name, "kind": kind, "options": " ".join(options), **record}), flush=True)
        if kind == "auto":
            print(f"{name:24} {'verified' if record['verified'] else 'NOT verified':12} {record['seconds']:7.2f} s  "
                  f"{time_of(record):9.4f} s  {record['solver']} {record['precond']} {record['iterations']} "
                  f"{record['reason']}", file=sys.stderr, flush=True)


def is_near(record, best):
    """Whether a run is worth a repetition: it solved within twice the best time so far."""
    return bool(record["verified"]) and time_of(record) <= 2.0 * best


def search(arguments, name, path, cold):
    """The methods of SEARCH, and the default options again: with a file of choices, and without."""
    limit = min(arguments.limit, max(2.0, arguments.times * cold["seconds"]))
    best = time_of(cold) if cold["verified"] else math.inf
    with tempfile.TemporaryDirectory() as folder:
        choices = str(pathlib.Path(folder) / "choices")
        if "warm" in arguments.kinds:
            solve(arguments, path, arguments.limit, [], choices)
        turns = [("auto", []), *LESS] * (arguments.repeat - 1)  # so that other work on the machine meets all alike
        for kind, options in [("warm", [])] * arguments.repeat + turns + SEARCH:
            if kind not in arguments.kinds and kind != "auto":
                continue
            record = solve(arguments, path, limit, options, choices if kind == "warm" else "none")
            emit(name, kind, options, record)
            for _ in range(arguments.repeat - 1):
                if kind not in ("fp64", "low") or not is_near(record, best):
                    break
                best = min(best, time_of(record))
                record = solve(arguments, path, limit, options)
                emit(name, kind, options, record)


def measure_on_host(arguments):
    for name, path in problems_of(arguments):
        if not is_square(path, arguments.tool):
            continue
        record = solve(arguments, path, arguments.limit, [])
        emit(name, "auto", [], record)
        if arguments.search:
            search(arguments, name, path, record)


# ---- on a GPU, or several processes beside one another ----

def run_task(arguments, end, task):
    """The record of one solve; None for a task that is left out, since the time is used up."""
    name, path, kind, options = task
    limit = min(arguments.limit, end - time.monotonic())
    if limit < min(LEAST_SECONDS, arguments.limit):
        return None
    record = solve(arguments, path, limit, options)
    emit(name, kind, options, record)
    return record


def search_beside(arguments, end, methods, problem):
    """The default options and the methods; what comes within twice the best time runs again. Returns what is left
    out."""
    tasks = [(*problem, kind, options) for kind, options in methods if kind in arguments.kinds]
    records = [(task, run_task(arguments, end, task)) for task in tasks]
    solved = [time_of(record) for _, record in records if record and record["verified"]]
    again = [task for task, record in records
             if record and task[2] in ("fp64", "low") and is_near(record, min(solved, default=math.inf))]
    for _ in range(arguments.repeat - 1):
        records += [(task, run_task(arguments, end, task)) for task in [(*problem, "auto", []), *again]]
    return sum(record is None for _, record in records)


def measure_beside(arguments):
    """All matrices with the default options first, then the search."""
    end = time.monotonic() + arguments.seconds
    files = problems_of(arguments)
    if not arguments.gallery:
        files.sort(key=lambda file: -file[1].stat().st_size)
    searched = arguments.search_names.split(",") if arguments.search_names else [name for name, _ in files]
    methods = [(kind, options) for kind, options in (DEVICE_SEARCH if arguments.device != "cpu" else SEARCH)
               if not arguments.preconds or "--precond" not in options
               or options[options.index("--precond") + 1] in arguments.preconds.split(",")]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        square = list(pool.map(lambda file: is_square(file[1], arguments.tool), files))
        files = [file for file, ok in zip(files, square) if ok]
        first = pool.map(functools.partial(run_task, arguments, end), [(*file, "auto", []) for file in files])
        left_out = sum(record is None for record in first)
        if arguments.search:
            left_out += sum(pool.map(functools.partial(search_beside, arguments, end, methods),
                                     [file for file in files if file[0] in searched]))
    print(f"{left_out} solves left out for --seconds", file=sys.stderr)


def measure(arguments):
    if arguments.jobs == 1 and arguments.device == "cpu":
        return measure_on_host(arguments)
    return measure_beside(arguments)


# ---- tables ----

def time_of(record):
    """Set-up, trials and solve, without the start of the process and the reading of the file."""
    return (record["setup_seconds"] or 0.0) + (record["solve_seconds"] or 0.0)


def fastest(runs, kinds, measure_of):
    """The least time of verified runs of these kinds; None: there is none."""
    times = (measure_of(r) for r in runs if r["kind"] in kinds and r["verified"])
    return min((seconds for seconds in times if seconds is not None), default=None)


def cpu_of(record):
    return record["cpu_seconds"]


def compare(records, kind, kinds, measure_of):
    """The time of the default options (kind auto or warm) over the best of other kinds, where both solve."""
    ratios = {}
    for name, runs in records.items():
        own, best = fastest(runs, (kind,), measure_of), fastest(runs, kinds, measure_of)
        if own is not None and best:
            ratios[name] = own / best
    return ratios


def print_ratios(title, ratios):
    if not ratios:
        return
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = sorted(ratios, key=ratios.get, reverse=True)[:5]
    print(f"{title}: geometric mean {mean:.2f} of {len(ratios)}, worst "
          + ", ".join(f"{name} {ratios[name]:.2f}" for name in worst))


def summarise(path):
    records = collections.defaultdict(list)
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        records[record["matrix"]].append(record)
    autos = [run for run in (next((r for r in runs if r["kind"] == "auto"), None) for runs in records.values()) if run]
    print(f"{sum(bool(r['verified']) for r in autos)} of {len(autos)} verified, "
          f"{sum(r['seconds'] for r in autos):.1f} s in all")
    for record in autos:
        if not record["verified"]:
            last = (record["why"] or [""])[-1]
            print(f"  {record['matrix']}: code {record['code']}, {record['reason']}, "
                  f"residual {record['relative_residual']}, {record['seconds']:.1f} s; {last or record['error']}")
    for kind, label in (("auto", "cold"), ("warm", "warm")):
        for kinds, of in ((("fp64", "low"), "the best of all"), (("fp64",), "the best in fp64"),
                          (("auto64",), "--precision fp64"), (("csr",), "--format csr")):
            print_ratios(f"auto, {label}, over {of}", compare(records, kind, kinds, time_of))
            print_ratios(f"  CPU seconds, {label}, over {of}", compare(records, kind, kinds, cpu_of))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--tool", default="build/release/tessera")
    parser.add_argument("--rtol", type=float, default=1e-8)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a solve (60)")
    parser.add_argument("--names", default="", help="only these matrices")
    parser.add_argument("--gallery", default="", help="these problems of the gallery, in place of a folder")
    parser.add_argument("--search", action="store_true", help="also solve by the methods of SEARCH")
    parser.add_argument("--kinds", default="warm,auto64,csr,fp64,low", help="with --search: only these kinds")
    parser.add_argument("--preconds", default="", help="with --search: only methods with these preconditioners")
    parser.add_argument("--times", type=float, default=10.0, help="with --search: limit of a method, in times of auto")
    parser.add_argument("--repeat", type=int, default=3, help="with --search: most runs of a method (3)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="processes beside one another (1)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="with --jobs or a GPU: no solve starts later")
    parser.add_argument("--search-names", default="", help="with --jobs or a GPU: only these are searched")
    parser.add_argument("--summary", metavar="RECORDS")
    arguments = parser.parse_args()
    if arguments.summary:
        return summarise(arguments.summary)
    arguments.kinds = arguments.kinds.split(",")
    if not (arguments.folder or arguments.gallery) or not os.access(arguments.tool, os.X_OK):
        sys.exit("name a folder of matrices, and a tool that can be run (--tool)")
    return measure(arguments)


if __name__ == "__main__":
    main()
