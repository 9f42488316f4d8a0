#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts faults into the code, one at a time, and reports those that no test notices. Not part of make check.

    python3 scripts/mutate.py --known                      the faults of tests/mutation/known.tsv
    python3 scripts/mutate.py --sample 1 --limit 30        30 random ones of the files in tests/mutation/tests.tsv
    python3 scripts/mutate.py --sample 1 --per-file 20 --workers 14    20 of each file, on a machine of 16 cores
    python3 scripts/mutate.py --files src/solver/guard.c   all of one file

The generator is universalmutator (PyPI, pure Python): its rules work on lines of text, so headers that are inlined into
many objects are changed in all of them, and gcc, which the tests run with, compiles the result. mull needs an LLVM
plugin of clang's exact version and changes one object file at a time; Debian 12 does not have it.

Everything happens in build/mutate (a copy of the tracked files, a build of its own, the results), so the checkout stays
as it is. Workers have a copy and a build each, and share the mutants. A run that is interrupted goes on where it
stopped: results.jsonl holds what is done, by the text of the line.
--again tries survivors anew, --fresh all.
Mutants that change nothing that a test can see are listed in tests/mutation/equivalent.tsv with the reason; they are
left out.
Outcomes: `invalid` does not compile, `same` compiles to the same objects, `killed`, `survived`.
"""

import argparse
import collections
import contextlib
import difflib
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutate"
RESULTS = WORK / "results.jsonl"
SOURCE, BUILD = WORK / "source", WORK / "build"  # of this process: a worker has its own
MATRICES = ROOT.parent / "shared" / "matrices"
TABLES = ROOT / "tests" / "mutation"
GENERATOR, RULES = "universalmutator==1.14.1", ["universal.rules", "c_like.rules", "c.rules"]
# Tests of documents and scripts, which no fault in the library can fail.
UNRELATED = "^(plots|roofline_vectorised|headers|check_layers|check_docs|library_size)$"
# A test that takes so many times as long as without a fault hangs.
HANG_FACTOR, HANG_SECONDS = 10, 20

# line: from 1; nth: of the equal lines in the file; old, new: without the line's end
Mutant = collections.namedtuple("Mutant", "file line nth old new")


def run(command, limit=None, **more):
    """The exit status and the output; None where it took longer than the limit. Ends all that the command began."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True, **more)
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def must(command, **more):
    status, output = run(command, **more)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{output[-4000:]}")
    return output


# ---- the copy, and its build ----


def copy_tree():
    """Copies what has changed, so that ninja builds what has changed."""
    names = must(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT).splitlines()
    for name in names:
        origin, copy = ROOT / name, SOURCE / name
        if not origin.is_file():
            continue
        if copy.is_file() and copy.read_bytes() == origin.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(origin, copy)
    kept = set(names)
    for copy in [p for folder in ("src", "tests", "include") for p in (SOURCE / folder).rglob("*") if p.is_file()]:
        if str(copy.relative_to(SOURCE)) not in kept:
            copy.unlink()


def build(jobs, *targets):
    return run(["ninja", "-C", BUILD, f"-j{jobs}", *targets])


def exactly(names):
    """For ctest -R: CMake's regular expressions take some thirty groups at most, so one group of names."""
    return "^(" + "|".join(map(re.escape, names)) + ")$"


def tests_that_match(patterns):
    listed = re.findall(r"Test +#\d+: (\S+)", must(["ctest", "--test-dir", BUILD, "-N"]))
    return [name for name in listed if any(re.search(p, name) for p in patterns)]


def programs_of_tests():
    """Of each test that runs a program of tests/ the target that makes it."""
    tests = json.loads(must(["ctest", "--test-dir", BUILD, "--show-only=json-v1"]))["tests"]
    commands = {test["name"]: pathlib.Path(test["command"][0]) for test in tests if test.get("command")}
    return {name: path.name for name, path in commands.items() if path.parent == BUILD / "tests"}


def prepare(jobs):
    copy_tree()
    must(["cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTESS_CUDA=OFF",
          "-DTESS_BUILD_TESTS=ON", "-DTESS_BUILD_BENCH=OFF", "-DTESS_WERROR=OFF",
          f"-DTESS_MATRICES_DIR={MATRICES if MATRICES.is_dir() else ''}"])
    status, output = build(jobs, "all")
    if status != 0:
        sys.exit(output[-4000:])


def digest_of_library():
    """Of what the tests are linked with. The archive holds no times."""
    return hashlib.sha256(next(BUILD.rglob("libtessera_internal.a")).read_bytes()).hexdigest()


class Suite:
    """The tests that `choice` names to ctest, and how long each takes without a fault."""

    def __init__(self, jobs, choice):
        self.jobs = jobs
        self.seconds = {}
        self.programs = programs_of_tests()
        kept = BUILD.parent / "seconds.json"
        version = " ".join(choice) + digest_of_library() + hashlib.sha256(
            b"".join(p.read_bytes() for p in sorted((SOURCE / "tests").rglob("*.c")))).hexdigest()
        if kept.is_file() and (found := json.loads(kept.read_text()))["version"] == version:
            self.seconds = found["seconds"]
            return
        status, output = self.ctest(choice, None)
        if "No tests were found" in output:
            sys.exit("ctest finds none of the tests to run")
        for name, seconds in re.findall(r"Test +#\d+: (\S+) \.+.*?([\d.]+) sec", output):
            self.seconds[name] = float(seconds)
        if status != 0:
            sys.exit(f"the tests fail without a fault:\n{output[-4000:]}")
        kept.write_text(json.dumps({"version": version, "seconds": self.seconds}))

    def ctest(self, choice, limit):
        return run(["ctest", "--test-dir", BUILD, f"-j{self.jobs}", "--stop-on-failure", "-LE", "long", *choice], limit)

    def split(self, pattern):
        """The names of the tests to run first, and of the others."""
        first = [n for n in self.seconds if re.search(pattern, n)]
        return first, [n for n in self.seconds if n not in first]

    def failing(self, names):
        """The test that notices: its name, `hangs`, or None."""
        if not names:
            return None
        limit = HANG_SECONDS + HANG_FACTOR * sum(self.seconds[n] for n in names)
        status, output = self.ctest(["-R", exactly(names)], limit)
        if status == 0:
            return None
        failed = re.search(r"Test +#\d+: (\S+) \.+\**(?!.*(Passed|Skipped)).* sec", output)
        return failed.group(1) if failed else "hangs" if status is None else "a test"


# ---- mutants ----


def import_generator():
    """universalmutator in a virtual environment of this script's; without what only its other parts need."""
    folder = WORK / "venv"
    if not folder.is_dir():
        venv.create(folder, with_pip=True)
        must([folder / "bin" / "pip", "install", "-q", "--no-deps", GENERATOR])
    sys.path.append(str(next((folder / "lib").glob("python*/site-packages"))))
    from universalmutator import mutator
    return mutator


def without_comments(text):
    """The same lines with spaces in place of comments, so that no mutant is one of a comment."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'", re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][0] == "/" else m[0], text)


def make_mutant(name, lines, number, new):
    """Of line `number` of the file, from 1; `lines` have no ends."""
    old = lines[number - 1]
    return Mutant(name, number, sum(line.strip() == old.strip() for line in lines[:number - 1]), old, new)


def mutants_of(generator, name):
    code = without_comments((ROOT / name).read_text())
    lines = [line.rstrip() for line in code.splitlines()]
    with contextlib.redirect_stdout(sys.stderr):
        found = generator.mutants_regexp([line + "\n" for line in lines], RULES, ignorePatterns=[],
                                         ignoreStringOnly=True)
    return [make_mutant(name, lines, m[0], m[1].rstrip("\n")) for m in found]


def known_mutants():
    """The lines of known.tsv: file, text that stands in it once, text in its place."""
    mutants = []
    for row in (TABLES / "known.tsv").read_text().splitlines():
        if not row or row.startswith("#"):
            continue
        name, old, new = row.split("\t")[:3]
        lines = (ROOT / name).read_text().splitlines()
        places = [i for i, line in enumerate(lines) if old in line]
        if len(places) != 1 or lines[places[0]].count(old) != 1:
            sys.exit(f"known.tsv: '{old}' stands {len(places)} times in {name}, not once")
        mutants.append(make_mutant(name, lines, places[0] + 1, lines[places[0]].replace(old, new)))
    return mutants


def equivalent_mutants():
    """The lines of equivalent.tsv: file, line, the line in its place (\\n between two), reason."""
    listed = set()
    for row in (TABLES / "equivalent.tsv").read_text().splitlines():
        if not row or row.startswith("#"):
            continue
        name, old, new, _ = row.split("\t")
        if old not in (line.strip() for line in (ROOT / name).read_text().splitlines()):
            sys.exit(f"equivalent.tsv: no line of {name} is '{old}'")
        listed.add((name, old, new))
    return listed


def is_listed(mutant, listed):
    new = "\\n".join(line.strip() for line in mutant.new.strip().split("\n"))
    return (mutant.file, mutant.old.strip(), new) in listed


def read_table():
    """Of each file the pattern of the tests to run first."""
    table = {}
    for row in (TABLES / "tests.tsv").read_text().splitlines():
        if row and not row.startswith("#"):
            name, pattern = row.split("\t")
            table[name] = pattern
            if not (ROOT / name).is_file():
                sys.exit(f"tests.tsv: there is no {name}")
    return table


def judge(mutant, pattern, suite, unchanged, only_first):
    """One mutant: its outcome, and what says so."""
    path = SOURCE / mutant.file
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    lines[mutant.line - 1] = mutant.new + "\n"
    first, others = suite.split(pattern)
    try:
        path.write_text("".join(lines))
        status, output = build(suite.jobs, "tessera_internal")
        if status != 0 or "[-Wreturn-type]" in output:  # a function without its value does anything
            return "invalid", ""
        if digest_of_library() == unchanged:
            return "same", ""
        for names in (first,) if only_first else (first, others):
            targets = ["all"] if names is others else {suite.programs[n] for n in names if n in suite.programs}
            if build(suite.jobs, *targets)[0] != 0:
                return "invalid", "a test does not compile"
            failing = suite.failing(names)
            if failing:
                return "killed", failing
        return "survived", ""
    finally:
        path.write_text(text)


# ---- results ----


def key_of(mutant):
    return "\t".join((mutant.file, str(mutant.nth), mutant.old.strip(), mutant.new.strip()))


def read_results():
    found = {}
    if RESULTS.is_file():
        for row in RESULTS.read_text().splitlines():
            result = json.loads(row)
            found[key_of(Mutant(*result["mutant"]))] = result
    return found


def report(results):
    """By file what became of the mutants, then which survived."""
    print(f"{'file':50} made invalid   same killed survived")
    names = sorted({r["mutant"][0] for r in results})
    for name in names + ["all"]:
        outcomes = collections.Counter(r["outcome"] for r in results if name in ("all", r["mutant"][0]))
        print(f"{name:50} {sum(outcomes.values()):4} {outcomes['invalid']:7} {outcomes['same']:6} "
              f"{outcomes['killed']:6} {outcomes['survived']:8}")
    for r in results:
        if r["outcome"] == "survived":
            name, line, _, old, new = r["mutant"]
            print("".join(difflib.unified_diff([old + "\n"], [new + "\n"], f"{name}:{line}", "survived", n=0)), end="")


def choose(options, table):
    if options.known:
        mutants = known_mutants()
        return [m for m in mutants if not options.files or m.file in options.files]
    generator = import_generator()
    listed = equivalent_mutants()
    mutants = [m for name in options.files or table for m in mutants_of(generator, name) if not is_listed(m, listed)]
    if options.sample is not None:
        random.Random(options.sample).shuffle(mutants)
    if options.per_file:
        by_file = collections.defaultdict(list)
        for mutant in mutants:
            by_file[mutant.file].append(mutant)
        mutants = [m for some in by_file.values() for m in some[:options.per_file]]
    return mutants[:options.limit] if options.limit else mutants


def try_mutants(mutants, done, options, table):
    """Adds the results of those that are not done to RESULTS, line by line."""
    prepare(options.jobs)
    patterns = {table.get(mutant.file, "unit") for mutant in mutants}
    choice = ["-R", exactly(tests_that_match(patterns))] if options.first else ["-E", UNRELATED]
    suite, unchanged = Suite(options.jobs, choice), digest_of_library()
    with RESULTS.open("a") as out:
        for number, mutant in enumerate(mutants, 1):
            result = done.get(key_of(mutant))
            if result and not (options.again and result["outcome"] == "survived"):
                continue
            began = time.monotonic()
            outcome, by = judge(mutant, table.get(mutant.file, "unit"), suite, unchanged, options.first)
            result = {"mutant": mutant, "outcome": outcome, "by": by, "seconds": time.monotonic() - began}
            out.write(json.dumps(result) + "\n")
            out.flush()
            print(f"{number}/{len(mutants)} {mutant.file}:{mutant.line} {outcome} {by} "
                  f"({result['seconds']:.0f} s): {mutant.new.strip()}", file=sys.stderr)


def start_worker(number, mutants, done, options, table):
    """A process with a copy and a build of its own."""
    def work():
        global SOURCE, BUILD
        SOURCE, BUILD = (WORK / f"worker-{number}" / name for name in ("source", "build"))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
        try_mutants(mutants, done, options, table)

    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)  # ends with this one
    process.start()
    return process


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", help="of the checkout, instead of those of tests/mutation/tests.tsv")
    parser.add_argument("--known", action="store_true", help="the faults of tests/mutation/known.tsv")
    parser.add_argument("--sample", type=int, metavar="SEED", help="in random order")
    parser.add_argument("--limit", type=int, metavar="N", help="no more than so many")
    parser.add_argument("--per-file", type=int, metavar="N", help="no more than so many of each file")
    parser.add_argument("--workers", type=int, default=1, help="processes with a build each (1)")
    parser.add_argument("--first", action="store_true", help="only the tests of tests.tsv: survivors need another look")
    parser.add_argument("--again", action="store_true", help="forget what survived before, and try it again")
    parser.add_argument("--fresh", action="store_true", help="forget all earlier results")
    parser.add_argument("--jobs", type=int, default=2, help="of ninja and ctest (2)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))  # so that the copy is put right again
    table = read_table()
    WORK.mkdir(parents=True, exist_ok=True)
    mutants = choose(options, table)
    done = {} if options.fresh else read_results()
    if options.workers == 1:
        try_mutants(mutants, done, options, table)
    else:
        shares = [mutants[w::options.workers] for w in range(options.workers)]
        workers = [start_worker(w, share, done, options, table) for w, share in enumerate(shares) if share]
        for worker in workers:
            worker.join()
        if any(worker.exitcode for worker in workers):
            print("a worker failed: the report lacks what it had to do", file=sys.stderr)
    done = read_results()
    results = [done[key_of(m)] for m in mutants if key_of(m) in done]
    report(results)
    bad = ("survived", "invalid", "same") if options.known else ("survived",)  # a known fault is one
    return 1 if any(r["outcome"] in bad for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
