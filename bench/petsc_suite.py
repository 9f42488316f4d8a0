#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PETSc's own tests of KSP with our types by options alone, against the same runs with PETSc's types.

    petsc_suite.py --plugin build/release/lib/libtessera_petsc.so [--work DIR] [--pairs PAIR...] [-- NAME...]

Needs Debian's libpetsc3.18-dev-examples. Each test of src/ksp/ksp/{tests,tutorials} whose program takes the options
runs in pairs, whose output must agree: the same lines, reals within 1e-4, integers within one. Of a test with a loop
only its first value runs with all pairs, the others with mat alone. What -ksp_view prints names the types: mat alone
compares it.

    mat      -mat_type tessera                                    as aij
    jacobi   -pc_type tessera -pc_tessera_type jacobi             as -pc_type jacobi
    ilu0     -pc_type tessera -pc_tessera_type ilu0               as -pc_type bjacobi
    gamg     -pc_type tessera -pc_tessera_type gamg, in fp64      as -pc_type gamg
    ksp      -ksp_type tessera                                    converges where the test's own method does

Prints a line for each pair that does not agree, and a table of counts: "as aijperm" is a failure that PETSc's own
variant of AIJ has too, "not taken" an option that the program does not read, "no base" a run that fails with PETSc's
types, as most for want of a data file.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

EXAMPLES = pathlib.Path("/usr/share/petsc/3.18/share/petsc/examples/src/ksp/ksp")
DATA = pathlib.Path("/usr/share/petsc/3.18/share/petsc/datafiles")
KINDS = {
    "mat": ("-mat_type aij -dm_mat_type aij", "-mat_type tessera -dm_mat_type tessera"),
    "jacobi": ("-pc_type jacobi", "-pc_type tessera -pc_tessera_type jacobi"),
    "ilu0": ("-pc_type bjacobi", "-pc_type tessera -pc_tessera_type ilu0"),
    "gamg": ("-pc_type gamg", "-pc_type tessera -pc_tessera_type gamg -pc_tessera_precision fp64"),
    "ksp": ("", "-ksp_type tessera"),
}
ANOTHER = "-mat_type aijperm -dm_mat_type aijperm"
HAVE = {"double", "c", "datafilespath", "define(petsc_use_info)", "define(petsc_use_log)"}
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
VIEW = re.compile(r"\s*(?:KSP|PC|Mat|SNES|TS) Object\b")
NOT_AIJ = re.compile(r"-mat_type (?!aij|seqaij\b|mpiaij\b)\S+|-dm_mat_type (?!aij)\S+")


def read_tests(source):
    """The tests of a program: name, number of processes, options, requirements. A test inherits from its testset."""
    text = source.read_text(errors="replace")
    found = re.search(r"/\*TEST(.*?)TEST\*/", text, re.S)
    tests, stack = [], []
    for line in found.group(1).splitlines() if found else []:
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        depth = len(line) - len(line.lstrip())
        while stack and stack[-1][0] >= depth:
            stack.pop()
        if words in ("test:", "testset:"):
            entry = dict(stack[-1][1]) if stack else {}
            entry.pop("suffix", None)
            entry["kind"] = words
            stack.append((depth, entry))
            if words == "test:":
                tests.append(entry)
        elif ":" in words and stack:
            key, value = (part.strip() for part in words.split(":", 1))
            stack[-1][1][key] = f"{stack[-1][1].get('args', '')} {value}" if key == "args" else value
    return tests


def expand(options):
    """One list of options for each value of the first {{a b}}; of further ones the first value alone."""
    loops = re.findall(r"\{\{(.*?)\}[^}]*\}", options)
    values = loops[0].split() if loops else [""]
    for value in values:
        done = re.sub(r"\{\{(.*?)\}[^}]*\}", value, options, count=1)
        yield re.sub(r"\{\{(.*?)\}[^}]*\}", lambda m: (m.group(1).split() or [""])[0], done)


def runnable(test):
    needed = test.get("requires", "").lower().replace(",", " ").split()
    return "TODO" not in test.get("requires", "") and all(n in HAVE or n.startswith("!") for n in needed)


def build(source, folder):
    program = folder / f"{source.parent.name}_{source.stem}"
    if not program.exists():
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "PETSc"], capture_output=True, text=True,
                               check=True)
        done = subprocess.run(["mpicc", "-O1", "-w", str(source), "-o", str(program), *flags.stdout.split(), "-lm"],
                              capture_output=True, text=True)
        if done.returncode:
            return None
    return program


def run(program, size, options, limit=60):
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", str(size)]
    command = (command if size > 1 else []) + [str(program), *options.split()]
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_MCA_btl_vader_single_copy_mechanism="none",
                       DATAFILESPATH=str(DATA))
    # timeout(1) ends by a signal on which mpirun ends its processes: a killed mpirun leaves them running
    done = subprocess.run(["timeout", "-k", "10", str(limit), *command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=environment, cwd=program.parent, errors="replace")
    return done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr[:2000])


def split_left(text):
    """The output without the report of options, and the names of options that nothing read."""
    body = re.split(r"#PETSc Option Table|There (?:are|is) .*unused|WARNING! There are options", text)[0]
    return body, set(re.findall(r"(?:Option left: name:|^)(-\w+)\b(?=.*value)", text[len(body):], re.M))


def without_views(text):
    """The lines but those of -ksp_view and its like: a head, and what is indented further."""
    kept, head = [], None
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if head is not None and line.strip() and depth <= head:
            head = None
        if head is None and VIEW.match(line):
            head = depth
        if head is None:
            kept.append(line)
    return "\n".join(kept)


def lines_of(text):
    kept = []
    for line in text.splitlines():
        line = re.sub(r"aijtessera|tessera", "aij", line)
        if line.strip() and not re.match(r"\s*(Tessera:|aij:|Mat Object|PC Object|KSP Object)|.*using I-node", line):
            kept.append(line.strip())
    return kept


def close(a, b):
    x, y = float(a), float(b)
    if re.fullmatch(r"[-+]?\d+", a) and re.fullmatch(r"[-+]?\d+", b):
        return abs(x - y) <= 1
    return abs(x - y) <= 1e-4 * max(abs(x), abs(y)) + 1e-8


def differ(a, b):
    """The first lines that do not agree, or None. A last line of a monitor may be missing: an iteration less."""
    first, second = lines_of(a), lines_of(b)
    for one, two in zip(first, second):
        numbers = NUMBER.findall(one), NUMBER.findall(two)
        if NUMBER.sub("#", one) != NUMBER.sub("#", two) or len(numbers[0]) != len(numbers[1]) \
                or not all(map(close, *numbers)):
            return f"{one[:90]} | {two[:90]}"
    if abs(len(first) - len(second)) > 1:
        return f"{len(first)} and {len(second)} lines"
    return None


def judge(kind, base, ours, unused):
    """agrees, not taken, differs or fails; and why."""
    wanted = {"mat": {"-mat_type", "-dm_mat_type"}, "ksp": {"-ksp_type"}}.get(kind, {"-pc_tessera_type"})
    if ours[0] == 0 and wanted <= unused:
        return "not taken", ""
    if ours[0] != 0:
        errors = [line for line in ours[1].splitlines() if "ERROR:" in line and "----" not in line]
        return "fails", (errors[0] if errors else f"exit status {ours[0]}")[:150]
    if kind == "ksp":
        lost = base[1].count(" converged ") - ours[1].count(" converged ")
        return ("agrees", "") if lost <= 0 else ("differs", f"{lost} solves less converged")
    texts = (base[1], ours[1]) if kind == "mat" else map(without_views, (base[1], ours[1]))
    why = differ(*texts)
    return ("agrees", "") if why is None else ("differs", why)


def pairs(program, test, options, plugin, kinds):
    size = int(test.get("nsize", "1").strip("{}").split()[0])
    own = f"{options} -dll_append {plugin} -options_left"
    for kind in kinds:
        theirs, mine = KINDS[kind]
        if kind == "mat" and NOT_AIJ.search(options):
            continue
        extra = "-ksp_converged_reason" if kind == "ksp" else ""
        base = run(program, size, f"{options} {theirs} {extra}")
        if base[0] != 0:
            yield kind, "no base", base[1].splitlines()[0][:100] if base[1] else str(base[0])
            continue
        code, text = run(program, size, f"{own} {mine} {extra}")
        body, unused = split_left(text)
        result, why = judge(kind, base, (code, body), unused)
        if kind == "mat" and result == "fails" and run(program, size, f"{options} {ANOTHER}")[0]:
            result = "as aijperm"
        yield kind, result, why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--work", default="petsc_suite")
    parser.add_argument("--pairs", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("names", nargs="*", help="such as tests/ex1; default: all programs in C")
    given = parser.parse_args()
    work = pathlib.Path(given.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    names = given.names or sorted(f"{s.parent.name}/{s.stem}" for s in EXAMPLES.glob("t*/*.c"))
    counts = collections.Counter()
    for name in names:
        program = build(EXAMPLES / f"{name}.c", work)
        for test in read_tests(EXAMPLES / f"{name}.c") if program else []:
            if not runnable(test):
                continue
            kinds = given.pairs
            for options in expand(test.get("args", "").replace("${DATAFILESPATH}", str(DATA))):
                for kind, result, why in pairs(program, test, options, pathlib.Path(given.plugin).resolve(), kinds):
                    counts[kind, result] += 1
                    if result in ("differs", "fails"):
                        print(f"{name} {test.get('suffix', '1')} {kind}: {result}: {why}", flush=True)
                kinds = [kind for kind in kinds if kind == "mat"]
    results = ("agrees", "differs", "fails", "as aijperm", "not taken", "no base")
    print("pair", *results, sep="\t")
    for kind in KINDS:
        print(kind, *(counts[kind, result] for result in results), sep="\t")
    return 1 if any(counts[kind, "fails"] for kind in KINDS) else 0


if __name__ == "__main__":
    sys.exit(main())
