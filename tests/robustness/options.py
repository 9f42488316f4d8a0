#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random combinations of options on small matrices: no crash, no hang, only documented exit codes.

    tests/robustness/options.py build/release/tessera                    about 25 s; in ctest 10
    tests/robustness/options.py build/release/tessera --count 10000 --seconds 0 --seed 7

Options and the words that they take come from the tool itself: --usage, and the error for a word that it does not know.
Combination k of seed S is the same in every run of one version; a failure prints the command, which can be run by hand.
"""
import argparse
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

COMMANDS = ("solve", "info", "spmv", "timestep", "compare", "generate", "convert", "verify")
CODES = {"solve": {0, 1, 2, 3, 4, 5}, "timestep": {0, 1, 2, 3, 4, 5}, "verify": {0, 1, 2, 3, 4}}
OTHERS = {0, 2, 3, 4, 5}  # of the other commands; 5 for a singular matrix
LONGEST = 20.0  # seconds of one run
MEMORY = 4 << 30

REAL = "%%MatrixMarket matrix coordinate real"
MATRICES = {
    "spd.mtx": f"{REAL} symmetric\n3 3 5\n1 1 4\n2 1 -1\n2 2 4\n3 2 -1\n3 3 4\n",
    "unsym.mtx": f"{REAL} general\n3 3 7\n1 1 4\n1 2 1\n2 1 -1\n2 2 4\n2 3 1\n3 2 -1\n3 3 4\n",
    "one.mtx": f"{REAL} general\n1 1 1\n1 1 -3\n",
    "none.mtx": f"{REAL} general\n0 0 0\n",
    "wide.mtx": f"{REAL} general\n2 3 3\n1 1 1\n2 3 1\n2 2 -5\n",
    "tall.mtx": f"{REAL} general\n4 2 4\n1 1 1\n2 2 1\n3 1 2\n4 2 -1\n",
    "zero.mtx": f"{REAL} general\n3 3 0\n",
    "gap.mtx": f"{REAL} general\n3 3 2\n1 1 2\n2 2 1\n",
    "nan.mtx": f"{REAL} general\n2 2 2\n1 1 nan\n2 2 1\n",
    "inf.mtx": f"{REAL} general\n2 2 3\n1 1 inf\n1 2 1\n2 2 1\n",
    "saddle.mtx": f"{REAL} symmetric\n3 3 4\n1 1 1\n2 2 1\n3 1 1\n3 2 1\n",
    "swap.mtx": f"{REAL} general\n2 2 2\n1 2 1\n2 1 1\n",
    "tiny.mtx": f"{REAL} symmetric\n3 3 5\n1 1 2e-310\n2 2 2e-310\n3 3 2e-310\n2 1 -1e-310\n3 2 -1e-310\n",
    "small.mtx": f"{REAL} symmetric\n3 3 5\n1 1 2e-300\n2 2 2e-300\n3 3 2e-300\n2 1 -1e-300\n3 2 -1e-300\n",
    "huge.mtx": f"{REAL} symmetric\n3 3 5\n1 1 2e300\n2 2 2e300\n3 3 2e300\n2 1 -1e300\n3 2 -1e300\n",
    "wild.mtx": f"{REAL} general\n3 3 5\n1 1 1e-200\n2 2 1e200\n3 3 1\n1 3 1e150\n3 1 -1e-150\n",
    "skew.mtx": "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n",
    "dense.mtx": "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
    "b3.mtx": "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n",
}
GALLERY = ("gallery:laplace2d:7", "gallery:laplace1d:40", "gallery:laplace3d:4", "gallery:stretched2d:6",
           "gallery:uniflow2d:8", "gallery:powerlaw:60", "gallery:ventricle:2000", "gallery:nothing",
           "gallery:laplace2d:x")

WHOLE = ("0", "1", "2", "3", "7", "16", "64", "100", "5000", "-1", "99999999999", "x", "")
NUMBERS = ("0", "1", "0.5", "1e-3", "1e-8", "1e-14", "3", "99", "100", "1e300", "1e-300", "-1", "nan", "inf", "x", "")
SECONDS = ("0.05", "1", "1e-9", "0", "x")
BY_NAME = {
    "threads": ("1", "2", "3", "0", "5000"),
    "time-limit": SECONDS, "checkpoint-every": SECONDS,
    "max-iterations": ("0", "1", "2", "10", "300", "-1"),
    "count": ("0", "1", "5", "60", "-2"), "repeat": ("1", "2", "0"),
    "restart": ("1", "2", "5", "50", "1000000", "0"),
    "rhs": ("ones", "a-times-ones", "a-times-ramp", "random:3", "uniform", "b3.mtx", "absent.mtx", "random:x"),
    "x": ("ones", "random:3", "uniform", "b3.mtx", "absent.mtx"),
    "initial": ("ones", "random:3", "b3.mtx", "potential.mtx"),
    "initial-guess": ("b3.mtx", "absent.mtx", "spd.mtx"),
    "resume": ("run.ckpt", "absent", "spd.mtx"), "checkpoint": ("run.ckpt",),
    "choices": ("none", "choices.txt", "/no/such/choices"),
    "policy": ("none", "fixed-range:2", "mean-range:0.5", "mean-3std:auto", "lossless", "lossless:1e-3", "x"),
    "precond-policy": ("none", "mean-range", "lossless", "mean-3std:0.1"),
    "levels": ("fp64,fp32", "fp64,fp32,fp16,fp8", "fp32,fp16", "fp64,fp16:scaled", "fp8", "x"),
    "precond-levels": ("fp64,fp32", "fp64,fp16", "x"),
    "steps": ("mixed", "fp32,mixed,fp64", "fp32:3,fp64:4", "fp16", "mixed:2", "x"),
    "block": ("16x16", "32x32", "16x32", "8x8"),
    "base": ("csr", "sell", "ellr", "dia", "auto", "sell,ellr", "dia,csr"),
    "inner-precision": ("fp32", "fp16/fp64", "fp32/fp32", "auto", "e4m3/fp64", "x"),
    "basis-precision": ("fp32", "fp16", "bf16", "fp64"),
    "precond-precision": ("fp32", "fp16/fp64", "adaptive", "bf16/fp32", "e5m2/fp64"),
    "precond": ("none", "jacobi", "block-jacobi:3", "polynomial:4", "ilu0", "ic0", "ilut:1e-2:4", "ict", "iluk:2",
                "lu", "cholesky", "amg", "auto", "block-jacobi:99"),
    "solver": ("auto", "cg", "bicgstab", "jacobi", "gmres", "gmres-ir", "gmres-fd", "minres", "fgmres", "idr", "idr:2",
               "lsqr", "lsmr", "block-cg", "idr:0"),
    "preset": ("yang", "loe", "tezcan-jacobi", "x"),
    "tcki-thresholds": ("0.1,2,4", "0.2,3,5", "x"),
    "factor-memory": ("1K", "1M", "8G", "x"),
    "output": ("result.mtx", "result.mtx.gz", "result.tess", "/no/such/result.mtx", "/dev/null"),
    "json": ("result.json", "-", "/no/such/result.json"), "history": ("history.csv", "/dev/null"),
    "snapshots": ("snapshot", "/no/such/snapshot"), "plot": ("plot.png",),
}
# Values that are refused on sight: drawn less often, or nothing else would be reached.
WRONG = {"x", "", "zzz", "-1", "-2", "nan", "inf", "99999999999", "cuda", "hip", "graph", "single-kernel", "5000", "0",
         "absent", "absent.mtx", "random:x", "idr:0", "block-jacobi:99", "8x8", "1e300", "/no/such/result.mtx",
         "/no/such/result.json", "/no/such/result.out", "/no/such/snapshot", "gallery:nothing", "gallery:laplace2d:x",
         "nan.mtx", "zero.mtx", "none.mtx", "b3.mtx"}
# Options that need another one.
PARTNERS = {"solve": {"restart": "--solver=gmres", "inner-precision": "--solver=gmres",
                      "basis-precision": "--solver=gmres", "orthogonalization": "--solver=gmres",
                      "switch-at": "--solver=gmres-fd", "omega": "--solver=jacobi",
                      "steps": "--solver=jacobi", "triangular": "--precond=ilu0", "leaf": "--precond=ic0",
                      "factorization": "--precond=ilu0", "precond-format": "--precond=ilu0",
                      "precond-policy": "--precond-format=split", "polynomial-form": "--precond=polynomial:3",
                      "precond-precision": "--precond=block-jacobi:2", "recurrence": "--solver=cg",
                      "factor-memory": "--precond=lu", "narrowing": "--layout=resident"},
            "": {"policy": "--format=split", "levels": "--policy=mean-range", "granularity": "--format=split",
                 "block": "--granularity=block", "share": "--policy=mean-range",
                 "allow-underflow": "--policy=mean-range",
                 "base": "--format=split", "row-order": "--format=composite", "max-padding": "--format=ellr",
                 "sell-window": "--format=sell", "bsr-block-size": "--format=bsr", "layout": "--format=tiles",
                 "kernel": "--format=tiles", "tcki-thresholds": "--kernel=paper", "arithmetic": "--format=sell",
                 "every": "--snapshots=snapshot", "checkpoint-every": "--checkpoint=run.ckpt",
                 "reference": "--digits"}}
PROBLEMS = (["laplace2d", "5"], ["ventricle", "1500"], ["powerlaw", "50"], ["laplace3d", "3", "4"], ["nothing"],
            ["laplace2d"],
            ["replicate", "spd.mtx", "3"], ["replicate", "absent.mtx", "3"], ["laplace2d", "-3"], ["laplace2d", "1e9"])


class Options:
    """What a command takes: names, and values of each."""

    def __init__(self, tool, command):
        text = subprocess.run([tool, command, "--usage"], capture_output=True, text=True, check=True).stdout
        self.values = {}
        for name, kind in re.findall(r"\[--([a-z0-9-]+)(?:\[?=([^\]\s]+?)\]?)?\]", " ".join(text.split())):
            self.values[name] = BY_NAME.get(name) or self.words(tool, command, name, kind)

    @staticmethod
    def words(tool, command, name, kind):
        """None: no value. Of a name, the words that the message about an unknown one lists, and a wrong one."""
        if not kind:
            return None
        target = {"generate": ["laplace2d", "3", "--output", "out.mtx"],
                  "verify": ["spd.mtx", "b3.mtx", "b3.mtx"]}.get(command, ["spd.mtx"])
        done = subprocess.run([tool, command, *target, f"--{name}=zzz"], capture_output=True, text=True,
                              timeout=LONGEST)
        listed = re.search(r"available: (.*)", done.stderr, re.I)
        if listed:
            return tuple(listed.group(1).strip().split(", ")) + ("zzz",)
        if "FILE" in kind or "PREFIX" in kind:
            return ("result.out", "/no/such/result.out")
        return WHOLE if kind in ("N", "K", "M", "S") else NUMBERS


def draw(values, dice):
    """One of them, seldom a wrong one."""
    value = dice.choice(values)
    while value in WRONG and dice.random() < 0.9 and not set(values) <= WRONG:
        value = dice.choice(values)
    return value


def with_partners(command, names, dice):
    """What the options need to be accepted, mostly, down to two steps."""
    table = {**PARTNERS[""], **PARTNERS.get(command, {})}
    line, given = [], set(names)
    for name in [*names, *names]:
        partner = table.get(name)
        while partner and dice.random() < 0.9:
            name = partner[2:].split("=")[0]
            if name in given:
                break
            given.add(name)
            line.append(partner)
            partner = table.get(name)
    return line


def combination(options, dice):
    """A command line without the tool."""
    command = dice.choices(COMMANDS, weights=(8, 2, 2, 3, 1, 1, 1, 2))[0]
    if command == "generate":
        line = [*dice.choice(PROBLEMS), "--output", dice.choice(("a.mtx", "a.tess", "a.mtx.gz", "/no/such/a.mtx"))]
    elif command == "convert":
        line = [dice.choice(list(MATRICES)), dice.choice(("a.mtx", "a.tess", "a.mtx.gz", "spd.mtx", "x"))]
    else:
        line = [draw(list(MATRICES) + list(GALLERY) * 2, dice)]
    if command == "verify":
        line += [draw(BY_NAME["rhs"], dice), draw(BY_NAME["x"], dice)]
    known = options[command].values
    names = dice.sample(sorted(known), min(len(known), dice.choice((0, 1, 1, 2, 2, 3, 4, 5, 7))))
    line += [word for word in with_partners(command, names, dice) if word[2:].split("=")[0] in known]
    for name in names:
        if name == "output" and command == "generate":
            continue
        value = None if known[name] is None else draw(known[name], dice)
        line.append(f"--{name}" if value is None else f"--{name}={value}")
    return command, line


def limit_memory():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.environ.get("ROBUSTNESS_NO_LIMIT", "0") == "0":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def wrong(command, done):
    """What is wrong with a run; None: nothing."""
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    if b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
        return "a sanitizer complains"
    if done.returncode not in CODES.get(command, OTHERS):
        return f"exit {done.returncode} is not documented"
    if done.returncode in (2, 3, 4) and not done.stderr.strip():
        return f"exit {done.returncode} without a message"
    return None


def check(tool, command, line):
    words = [tool, command, *line]
    try:
        done = subprocess.run(words, capture_output=True, timeout=LONGEST, stdin=subprocess.DEVNULL,
                              preexec_fn=limit_memory, check=False)
    except subprocess.TimeoutExpired:
        return f"longer than {LONGEST:g} s"
    problem = wrong(command, done)
    return f"{problem}: {done.stderr[-300:].decode(errors='replace')}" if problem else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--seconds", type=float, default=25.0, help="end after so many; 0: only --count ends")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="begin with this combination")
    asked = parser.parse_args()
    tool = str(pathlib.Path(asked.tool).resolve())
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # the tool then does not start itself again
    failures, slowest, start, done = 0, (0.0, ""), time.monotonic(), 0
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = work
        os.chdir(work)
        for name, text in MATRICES.items():
            pathlib.Path(name).write_text(text, encoding="ascii")
        options = {command: Options(tool, command) for command in COMMANDS}
        for k in range(asked.first, asked.first + asked.count):
            if asked.seconds and time.monotonic() - start > asked.seconds:
                break
            pathlib.Path("spd.mtx").write_text(MATRICES["spd.mtx"], encoding="ascii")  # --force may have replaced it
            command, line = combination(options, random.Random(f"{asked.seed}:{k}"))
            begin = time.monotonic()
            problem = check(tool, command, line)
            slowest = max(slowest, (time.monotonic() - begin, f"{command} {' '.join(line)}"))
            done += 1
            if problem:
                failures += 1
                print(f"FAIL combination {k} of seed {asked.seed}: tessera {command} {' '.join(line)}\n     {problem}",
                      flush=True)
        os.chdir("/")
    print(f"{done} combinations, {failures} failed; the slowest took {slowest[0]:.2f} s: {slowest[1]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
