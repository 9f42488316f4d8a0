#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random solves in PETSc with the plug-in, on 1 to 4 processes, each claim judged in exact arithmetic.

    /usr/bin/python3 tests/claims/petsc.py --plugin build/release/lib/libtessera_petsc.so     1,000 solves, ten minutes
    /usr/bin/python3 tests/claims/petsc.py --seed 7 --only 123                                one, with its options

The Python is one that has petsc4py; Debian's is found. Without --plugin the environment variable TESSERA_PETSC names
it. A claim is a reason above 0 of -ksp_type tessera; what PETSc's own methods claim is theirs, and of these only hangs,
signals, errors and processes that differ count. Exit 1 if there is a fault. README.md says what is counted.
"""
import argparse
import collections
import glob
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import exact
import systems

LONGEST = 120.0  # seconds in which no process says anything
BATCH = 25  # runs of one mpiexec, which all have the same number of processes
FAULTS = ("false", "differ", "error", "hang", "signal")
DEBIAN = "/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages"

MATRICES = ("aij", "aij", "tessera", "tessera", "baij", "sbaij", "nest", "shell")
STORAGE = ("", "", "-mat_tessera_precision fp32", "-mat_tessera_precision fp16", "-mat_tessera_halo fp32",
           "-mat_tessera_halo fp16", "-mat_tessera_policy mean-3std", "-mat_tessera_policy lossless:1e-4",
           "-mat_tessera_format sell", "-mat_tessera_format split -mat_tessera_policy fixed-range:2",
           "-mat_tessera_format tiles", "-mat_tessera_precision e4m3 -mat_tessera_halo fp16")
KINDS = ("jacobi", "jacobi", "block-jacobi:3", "polynomial:4", "ilu0", "ic0", "ilut", "iluk:2", "lu", "cholesky", "amg",
         "amg", "gamg", "jacobi-sweeps:3")
SOLVERS = ("auto", "auto", "auto", "cg", "bicgstab", "gmres", "fgmres", "minres")
ON_ONE = (*SOLVERS, "idr", "gmres-ir", "gmres-fd", "lsqr")
METHODS = ("cg", "gmres", "fgmres", "bcgs", "minres", "tesseracg")  # PETSc's, and one that stops as they do
NORMS = ("preconditioned", "natural", "none")  # which -ksp_type tessera refuses


def stopping(generator):
    """rtol and atol."""
    rtol = generator.choice((0.5, 1e-2, 1e-5, 1e-5, 1e-8, 1e-10, 1e-12, 1e-14, 1e-15, 1e-16, 0.0))
    return rtol, generator.choice((0.0, 0.0, 0.0, 1e-12, 1e-6, 1e-300, 5e-324, 1.0, 1e-50))


class Run:
    """Run k of a seed: a system, and words as on a command line."""

    def __init__(self, seed, k):
        generator = random.Random(f"{seed}/{k}")
        self.k, self.ranks = k, k // BATCH % 4 + 1
        self.system = systems.make(generator)
        self.b = systems.right_hand_side(generator, self.system)
        self.rtol, self.atol = stopping(generator)
        self.matrix = generator.choice(MATRICES)
        self.block = generator.choice([size for size in (1, 2, 3) if self.system.size % size == 0])
        if self.matrix == "sbaij" and not self.system.symmetric:
            self.matrix = "baij"
        if self.matrix == "nest" and self.system.size < 2:
            self.matrix = "aij"
        self.guess = generator.random() < 0.15
        self.ours = generator.random() < 0.8
        self.transposed = self.ours and self.matrix in ("aij", "tessera") and generator.random() < 0.08
        self.words = self.choose(generator)

    def choose(self, generator):
        if not self.ours and self.matrix == "aij":
            self.matrix = "tessera"
        words = [f"-ksp_rtol {self.rtol!r} -ksp_atol {self.atol!r}",
                 f"-ksp_max_it {generator.choice((0, 1, 5, 300, 300, 500))}"]
        if self.matrix == "tessera":
            words.append(generator.choice(STORAGE))
        if self.ours:
            solver = generator.choice(ON_ONE if self.ranks == 1 else SOLVERS)
            words.append(f"-ksp_type tessera -ksp_tessera_solver {solver}")
        else:
            words.append(f"-ksp_type {generator.choice(METHODS)}")
        if generator.random() < 0.3:
            words.append(f"-{'ksp_tessera' if self.ours else 'ksp_gmres'}_restart {generator.choice((1, 3, 10))}")
        if generator.random() < 0.2:
            words.append("-ksp_norm_type unpreconditioned")
        elif generator.random() < (0.04 if self.ours else 0.3):
            words.append(f"-ksp_norm_type {generator.choice(NORMS)}")
        words.append(self.preconditioner(generator))
        return " ".join(word for word in words if word).split()

    def preconditioner(self, generator):
        kind = generator.random()
        if self.ours and kind < 0.25:
            return "-pc_type none"
        if self.ours and kind < 0.3 or self.matrix == "nest" and kind < 0.6:
            return "-pc_type jacobi"
        if self.ours and kind < 0.5: # with incomplete factors of PETSc's, which are for AIJ here
            return "-pc_type " + ("jacobi" if "baij" in self.matrix else generator.choice(("bjacobi", "asm")))
        if kind < 0.6:
            return f"-pc_type {generator.choice(('bjacobi', 'asm'))} -sub_pc_type tessera -sub_pc_tessera_type ilu0"
        words = f"-pc_type tessera -pc_tessera_type {generator.choice(KINDS)}"
        if generator.random() < 0.2:
            words += " -pc_tessera_precision fp32"
        return words

    @property
    def text(self):
        return (f"{self.ranks} processes, {self.matrix}{f' of {self.block}' if 'baij' in self.matrix else ''}, "
                f"{self.system.kind}, {self.system.size} rows{', a guess' if self.guess else ''}"
                f"{', transposed' if self.transposed else ''}: {' '.join(self.words)}")

    def is_refusal(self, error):
        """A word or an operation that is not supported; or what PETSc's preconditioners refuse, or its GAMG in ours."""
        if "tessera" in error.lower() or "No support for this operation" in error:
            return True
        of_petsc = error.startswith("./src/") and "-pc_type tessera" not in " ".join(self.words)
        return of_petsc or error.startswith("./src/ksp/pc/impls/gamg/")

    def judge(self, parts):
        """(outcome, text) from what each process wrote."""
        errors = [part["error"] for part in parts if "error" in part]
        if errors and len(errors) < len(parts):
            return "differ", f"{len(errors)} of {len(parts)} processes have an error: {errors[0]}"
        if errors:
            return ("refused" if any(map(self.is_refusal, errors)) else "error"), errors[0]
        reasons = {part["reason"] for part in parts}
        if len(reasons) > 1:
            return "differ", f"reasons {sorted(reasons)}"
        reason = reasons.pop()
        if not self.ours:
            return "of PETSc", ""
        if reason <= 0:
            return "not converged", ""
        if parts[0]["doubt"]:
            return "not verified", ""
        return self.judge_claim([float.fromhex(v) for part in parts for v in part["x"]], parts[0]["verified"])

    def judge_claim(self, x, verified):
        """Of the norm as given; verified, also with rows scaled to one size, within 100 times the tolerance."""
        rows = transpose(self.system.rows) if self.transposed else self.system.rows
        squares = exact.exact_residual(rows, self.b, x)
        if not exact.within(squares, self.rtol, self.atol):
            return "false", f"relative residual {exact.ratio(squares):.3g}"
        if verified:
            scaled = exact.exact_row_scaled_residual(rows, self.b, x)
            if not exact.rows_within(scaled, squares, 100 * self.rtol, 100 * self.atol):
                return "false", f"verified, row-scaled residual {exact.ratio(scaled):.3g}"
        return "right", ""


def transpose(rows):
    columns = [{} for _ in rows]
    for i, row in enumerate(rows):
        for j, value in row.items():
            columns[j][i] = value
    return columns


# ---- within the processes of an mpiexec ----


def load(words=None):
    """petsc4py's module, with PETSc begun if there are words for it."""
    try:
        import petsc4py
    except ImportError:
        sys.path += sorted(glob.glob(DEBIAN))
        import petsc4py
    if words is None:
        return None
    petsc4py.init(words)
    from petsc4py import PETSc
    return PETSc


class Product:
    """A shell around a matrix: the operations that a user of shells would give."""

    def __init__(self, matrix):
        self.matrix = matrix

    def mult(self, _, x, y):
        self.matrix.mult(x, y)

    def getDiagonal(self, _, d):
        self.matrix.getDiagonal(d)


class Builder:
    """The matrix of a run. Each process has rows first to last - 1 of the system, in order."""

    def __init__(self, PETSc, run):
        self.PETSc, self.run, self.made = PETSc, run, []
        unit = run.block if "baij" in run.matrix else 1
        count, rank, ranks = run.system.size // unit, PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size
        self.starts = [unit * (r * (count // ranks) + min(r, count % ranks)) for r in range(ranks + 1)]
        self.first, self.last = self.starts[rank:rank + 2]

    def keep(self, thing):
        self.made.append(thing)
        return thing

    def assembled(self, kind, prefix):
        run, local, n = self.run, self.last - self.first, self.run.system.size
        A = self.keep(self.PETSc.Mat().create(comm=self.PETSc.COMM_WORLD))
        A.setSizes(((local, n), (local, n)))
        A.setOptionsPrefix(prefix)
        A.setType(kind)
        if "baij" in kind:
            A.setBlockSize(run.block)
        A.setFromOptions()
        A.setUp()
        A.setOption(self.PETSc.Mat.Option.NEW_NONZERO_ALLOCATION_ERR, False)
        for i in range(self.first, self.last):
            for j, value in run.system.rows[i].items():
                if kind != "sbaij" or j >= i:
                    A.setValue(i, j, value)
        A.assemble()
        return A

    def nest(self):
        """Two by two blocks: of each process' rows the first half is of the first block."""
        place = []
        for first, last in zip(self.starts, self.starts[1:]):
            half = (last - first) // 2
            place += [0] * half + [1] * (last - first - half)
        number = [place[:i].count(place[i]) for i in range(len(place))]
        local = [place[self.first:self.last].count(part) for part in (0, 1)]
        blocks = [[self.keep(self.PETSc.Mat().createAIJ(((local[p], place.count(p)), (local[q], place.count(q))),
                                                        comm=self.PETSc.COMM_WORLD)) for q in (0, 1)] for p in (0, 1)]
        for block in blocks[0] + blocks[1]:
            block.setUp()
            block.setOption(self.PETSc.Mat.Option.NEW_NONZERO_ALLOCATION_ERR, False)
        for i in range(self.first, self.last):
            for j, value in self.run.system.rows[i].items():
                blocks[place[i]][place[j]].setValue(number[i], number[j], value)
        for block in blocks[0] + blocks[1]:
            block.assemble()
        return self.keep(self.PETSc.Mat().createNest(blocks, comm=self.PETSc.COMM_WORLD))

    def matrices(self, prefix):
        """The operator, and what the preconditioner is made of."""
        if self.run.matrix == "nest":
            A = self.nest()
            return A, A
        A = self.assembled("aij" if self.run.matrix == "shell" else self.run.matrix, prefix)
        if self.run.matrix != "shell":
            return A, A
        shell = self.PETSc.Mat().createPython(A.getSizes(), Product(A), comm=self.PETSc.COMM_WORLD)
        return self.keep(shell), A

    def solve(self, prefix, folder):
        A, P = self.matrices(prefix)
        x, b = (self.keep(vector) for vector in A.createVecs())
        b.setArray(self.run.b[self.first:self.last])
        ksp = self.keep(self.PETSc.KSP().create(comm=self.PETSc.COMM_WORLD))
        ksp.setOptionsPrefix(prefix)
        ksp.setOperators(A, P)
        ksp.setFromOptions()
        if self.run.guess:
            x.setArray([0.5 + i % 3 for i in range(self.first, self.last)])
            ksp.setInitialGuessNonzero(True)
        (ksp.solveTranspose if self.run.transposed else ksp.solve)(b, x)
        said = self.view(ksp, pathlib.Path(folder) / "view") if self.run.ours else []
        return {"reason": ksp.getConvergedReason(), "x": [float(v).hex() for v in x.getArray(readonly=True)],
                "verified": any(line.startswith("verified:") for line in said),
                "doubt": any(line.startswith("not verified: nobody tells") for line in said)}

    def view(self, ksp, path):
        """The lines of -ksp_view, on the first process."""
        viewer = self.keep(self.PETSc.Viewer().createASCII(str(path), comm=self.PETSc.COMM_WORLD))
        ksp.view(viewer)
        viewer.flush()
        if self.PETSc.COMM_WORLD.rank > 0:
            return []
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]

    def destroy(self):
        for thing in reversed(self.made):
            thing.destroy()


def innermost(text):
    """The place of an error and its message, without the calls that led there."""
    lines = [line.split("] ", 1)[-1] for line in text.splitlines()]
    frames = [i for i, line in enumerate(lines) if "() at " in line]
    last = frames[-1] if frames else 0
    return " ".join([lines[last].split("() at ")[-1], *lines[last + 1:]])[:400]


def one(PETSc, run, folder):
    """What this process says of a run."""
    options, prefix = PETSc.Options(), f"r{run.k}_"
    builder = Builder(PETSc, run)
    names = [word[1:] for word in run.words if word[0] == "-" and word[1].isalpha()]
    for name, word in zip(run.words[::2], run.words[1::2]):
        options[prefix + name[1:]] = word
    try:
        outcome = builder.solve(prefix, folder)
    except PETSc.Error as error:
        return {"error": innermost(str(error))}
    builder.destroy()
    for name in names:
        options.delValue(prefix + name)
    return outcome


def work(arguments):
    """Runs FIRST to LAST - 1, or up to the first error: it leaves objects that PETSc may be unable to destroy."""
    PETSc = load([sys.argv[0], "-dll_append", arguments.plugin])
    first, last = arguments.work
    errors = PETSc.Vec().createMPI((1, None), comm=PETSc.COMM_WORLD)
    with open(pathlib.Path(arguments.folder) / f"{PETSc.COMM_WORLD.rank}", "w", encoding="utf-8") as file:
        for k in range(first, last):
            print(json.dumps({"start": k}), file=file, flush=True)
            outcome = one(PETSc, Run(arguments.seed, k), arguments.folder)
            print(json.dumps({"end": k, **outcome}), file=file, flush=True)
            errors.set(1 if "error" in outcome else 0)
            if errors.sum() > 0:
                os._exit(0)


# ---- outside of them ----


def launcher():
    """mpiexec, with what Open MPI needs to run as anybody, anywhere."""
    version = subprocess.run(["mpiexec", "--version"], capture_output=True, text=True, check=False).stdout
    open_mpi = "Open MPI" in version or "OpenRTE" in version
    return ["mpiexec", *(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] if open_mpi else [])]


def wait(process, folder):
    """How the processes ended: a word, or nothing. They hang if none of them has written for long."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        now = sum(file.stat().st_size for file in folder.iterdir())
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > LONGEST:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            return "hang"
    return "signal" if process.returncode else ""


def batch(arguments, first, last):
    """(k, outcome, text) of runs FIRST to LAST - 1, or of some of them from FIRST on."""
    ranks = Run(arguments.seed, first).ranks
    command = [*launcher(), "-n", str(ranks), sys.executable, __file__, "--seed", str(arguments.seed), "--plugin",
               arguments.plugin, "--work", str(first), str(last), "--folder"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive",
                   "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(command + [folder], stdout=messages, stderr=subprocess.STDOUT, env=environment)
        ended = wait(process, pathlib.Path(folder))
        said = [read(pathlib.Path(folder) / str(rank)) for rank in range(ranks)]
        messages.seek(0)
        tail = " ".join(messages.read()[-1500:].split())
    k, parts = first, []
    while k < last and all(k in lines for lines in said):
        run, parts = Run(arguments.seed, k), [lines[k] for lines in said]
        yield (k, *run.judge(parts), run.text)
        k += 1
    if ended and k < last and not any("error" in part for part in parts):
        text = tail[-500:] if ended == "signal" else f"nothing within {LONGEST:g} s"
        yield k, ended, text, Run(arguments.seed, k).text


def read(path):
    """What a process wrote of the runs that it ended."""
    lines = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        part = json.loads(line)
        if "end" in part:
            lines[part["end"]] = part
    return lines


def outcomes(arguments):
    k = 0
    while k < arguments.runs:
        last = min(arguments.runs, k - k % BATCH + BATCH)
        done = 0
        for result in batch(arguments, k, last):
            done += 1
            yield result
        if done == 0:
            raise SystemExit(f"mpiexec ran nothing from {k} on")
        k += done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plugin", default=os.environ.get("TESSERA_PETSC"), help="libtessera_petsc.so")
    parser.add_argument("--only", type=int, metavar="K", help="run K alone, by itself")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.plugin:
        parser.error("--plugin, or the environment variable TESSERA_PETSC, names the plug-in")
    arguments.plugin = str(pathlib.Path(arguments.plugin).resolve())
    load()
    if arguments.work:
        work(arguments)
        return 0
    if arguments.only is not None:
        for result in batch(arguments, arguments.only, arguments.only + 1):
            print(*result, sep="\n")
        return 0
    counts = collections.Counter()
    for k, outcome, text, run in outcomes(arguments):
        counts[outcome] += 1
        if outcome in FAULTS:
            print(f"{outcome}: --seed {arguments.seed} --only {k}: {run}: {text}", flush=True)
    others = (*FAULTS, "not converged", "not verified", "refused", "of PETSc")
    print(f"petsc: {arguments.runs} solves, {counts['right']} claims right, " +
          ", ".join(f"{counts[name]} {name}" for name in others))
    return 1 if any(counts[name] for name in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
