#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CG and GMRES of other libraries on the matrices of bench_solve, as records that bench/report.py reads.

    others.py --json others.json                                      what is found, on laplace2d:64 to laplace3d:150
    others.py --contestant 'cupy-*' --matrix gallery:laplace3d:150    one library, one matrix
    others.py --hypre libHYPRE.so --amgx libamgxsh.so --json o.json   libraries that were built beside
    others.py --how                                                   how to build them

b = A * ones, x0 = 0, to --rtol of ||b||; a residual that is computed here in FP64 from the solver's x decides
`verified`. A time is a wall clock's until x is there, the median of --repeat after one that does not count. CuPy, hypre
and AmgX are none of ours: nothing of them is part of this repository.
"""
import argparse
import ctypes
import datetime
import fnmatch
import json
import pathlib
import subprocess
import sys
import time

try:
    import numpy as np
    import scipy.io
    from scipy import sparse
except ImportError as missing:
    sys.exit(f"others.py: needs NumPy and SciPy ({missing}): pip install scipy")

HOW = """hypre (C API, one process, no MPI), into $PREFIX:
  git clone https://github.com/hypre-space/hypre && cd hypre/src
  ./configure --without-MPI --with-cuda --with-gpu-arch=90 --enable-shared --enable-unified-memory --prefix=$PREFIX
  make -j install            # $PREFIX/lib/libHYPRE.so; without --with-cuda for the CPU, and --hypre-on cpu here
AmgX, one process, no MPI:
  git clone --recursive https://github.com/NVIDIA/AMGX && cmake -S AMGX -B amgx -DCMAKE_NO_MPI=ON -DCUDA_ARCH=90
  cmake --build amgx -j --target amgxsh      # amgx/libamgxsh.so
"""
MATRICES = ("gallery:laplace2d:64", "gallery:laplace2d:256", "gallery:laplace3d:100", "gallery:laplace3d:150")


# ---- matrices: square, CSR in FP64 with indices of 32 bits ----

def laplacian(edge, dimensions):
    """The stencil of 2 d on the diagonal and -1 beside it, as the gallery has it."""
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(edge, edge))
    matrix = line
    for _ in range(dimensions - 1):
        matrix = sparse.kronsum(matrix, line)
    return matrix


def load_matrix(source):
    """Its name and the matrix."""
    words = source.split(":")
    if words[0] != "gallery":
        name, matrix = pathlib.Path(source).name.split(".mtx")[0], scipy.io.mmread(source)
    elif words[1] in ("laplace2d", "laplace3d"):
        name, matrix = "-".join(words[1:]), laplacian(int(words[2]), int(words[1][7]))
    else:
        raise SystemExit(f"{source}: of the gallery only laplace2d:N and laplace3d:N are here")
    if not sparse.issparse(matrix) or matrix.shape[0] != matrix.shape[1] or np.iscomplexobj(matrix):
        raise SystemExit(f"{source}: not a square real matrix of coordinates")
    matrix = sparse.csr_matrix(matrix, dtype=np.float64)
    matrix.sort_indices()
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    return name, matrix


# ---- CuPy ----

class Cupy:
    """cupyx.scipy.sparse.linalg: the matrix is on the device; the time ends when x is there."""

    def __init__(self, matrix, b, method):
        import cupy
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg as linalg
        self.cupy, self.method, self.solve_by = cupy, method, getattr(linalg, method)
        self.version = "CuPy " + cupy.__version__
        self.a = cupyx.scipy.sparse.csr_matrix(matrix)
        self.b = cupy.asarray(b)
        self.iterations = 0

    def count(self, _):
        self.iterations += 1

    def solve(self, rtol, most, counting):
        """Counting iterations calls back to Python at each: no time is taken of it."""
        options = {"maxiter": most, "atol": 0.0}
        code = self.solve_by.__code__
        options["rtol" if "rtol" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] else "tol"] = rtol
        if self.method == "gmres":
            options["restart"] = 50
        self.iterations = 0
        x, info = self.solve_by(self.a, self.b, callback=self.count if counting else None, **options)
        self.cupy.cuda.Device().synchronize()
        return x, info == 0

    def on_host(self, x):
        return self.cupy.asnumpy(x)


# ---- libraries in C ----

def call(library, name, *arguments):
    """A function that returns 0 where all is well."""
    code = getattr(library, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name} returned {code}")


def pointer(array):
    return ctypes.c_void_p(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


class Amgx:
    """CG, plain or with AMG; set-up is in the time where there is AMG, as the other side's would be."""

    FP64_ON_DEVICE = 8193  # AMGX_mode_dDDI
    KINDS = {"cg": "solver(s)=CG", "amg-cg": "solver(s)=PCG, s:preconditioner(p)=AMG, p:algorithm=CLASSICAL, "
             "p:cycle=V, p:smoother=JACOBI_L1, p:presweeps=1, p:postsweeps=1, p:max_iters=1, p:interpolator=D2, "
             "p:selector=PMIS"}
    handle = version = None

    def __init__(self, path, matrix, b, kind, rtol, most):
        if not Amgx.handle:
            Amgx.handle = ctypes.CDLL(path)
            call(Amgx.handle, "AMGX_initialize")
            words = [ctypes.c_char_p() for _ in range(3)]  # version, date and time of the build
            call(Amgx.handle, "AMGX_get_build_info_strings", *map(ctypes.byref, words))
            Amgx.version = "AmgX " + words[0].value.decode()
        self.config, self.resources, self.a, self.b, self.x, self.solver = (ctypes.c_void_p() for _ in range(6))
        text = (f"config_version=2, {self.KINDS[kind]}, s:tolerance={rtol}, s:convergence=RELATIVE_INI, s:norm=L2, "
                f"s:max_iters={most}, s:monitor_residual=1, s:print_solve_stats=0")
        call(self.handle, "AMGX_config_create", ctypes.byref(self.config), text.encode())
        call(self.handle, "AMGX_resources_create_simple", ctypes.byref(self.resources), self.config)
        for name, place in (("matrix", self.a), ("vector", self.b), ("vector", self.x)):
            call(self.handle, f"AMGX_{name}_create", ctypes.byref(place), self.resources, self.FP64_ON_DEVICE)
        call(self.handle, "AMGX_solver_create", ctypes.byref(self.solver), self.resources, self.FP64_ON_DEVICE,
             self.config)
        call(self.handle, "AMGX_matrix_upload_all", self.a, len(b), matrix.nnz, 1, 1, pointer(matrix.indptr),
             pointer(matrix.indices), pointer(matrix.data), None)
        call(self.handle, "AMGX_vector_upload", self.b, len(b), 1, pointer(b))
        call(self.handle, "AMGX_vector_set_zero", self.x, len(b), 1)
        self.n, self.iterations = len(b), 0

    def solve(self, _rtol, _most, _counting):
        iterations, status = ctypes.c_int(), ctypes.c_int()
        call(self.handle, "AMGX_solver_setup", self.solver, self.a)
        call(self.handle, "AMGX_solver_solve_with_0_initial_guess", self.solver, self.b, self.x)
        call(self.handle, "AMGX_solver_get_iterations_number", self.solver, ctypes.byref(iterations))
        call(self.handle, "AMGX_solver_get_status", self.solver, ctypes.byref(status))
        self.iterations = iterations.value
        return None, status.value == 0

    def on_host(self, _):
        x = np.empty(self.n)
        call(self.handle, "AMGX_vector_download", self.x, pointer(x))
        return x


class Hypre:
    """ParCSR PCG, plain or with BoomerAMG, by the choices that hypre names for GPUs; the set-up is in the time."""

    PARCSR = 5555
    handle = version = None

    def __init__(self, path, matrix, b, kind, rtol, most, on_gpu):
        if not Hypre.handle:
            Hypre.handle = ctypes.CDLL(path)
            call(Hypre.handle, "HYPRE_Initialize")
            parts = [ctypes.c_int() for _ in range(3)]
            call(Hypre.handle, "HYPRE_VersionNumber", *map(ctypes.byref, parts), None)
            Hypre.version = "hypre " + ".".join(str(part.value) for part in parts)
            if on_gpu:
                call(Hypre.handle, "HYPRE_SetMemoryLocation", 1)
                call(Hypre.handle, "HYPRE_SetExecutionPolicy", 1)
        import_ = np.asarray
        if on_gpu:
            import cupy
            import_ = cupy.asarray
        n = len(b)
        self.import_, self.n, self.amg = import_, n, kind == "amg-cg"
        self.rows, self.rtol, self.most, self.iterations = import_(np.arange(n, dtype=np.int32)), rtol, most, 0
        self.matrix, self.a = ctypes.c_void_p(), ctypes.c_void_p()
        lengths, columns, values = map(import_, (np.diff(matrix.indptr), matrix.indices, matrix.data))
        call(self.handle, "HYPRE_IJMatrixCreate", 0, 0, n - 1, 0, n - 1, ctypes.byref(self.matrix))
        call(self.handle, "HYPRE_IJMatrixSetObjectType", self.matrix, self.PARCSR)
        call(self.handle, "HYPRE_IJMatrixInitialize", self.matrix)
        call(self.handle, "HYPRE_IJMatrixSetValues", self.matrix, n, pointer(lengths), pointer(self.rows),
             pointer(columns), pointer(values))
        call(self.handle, "HYPRE_IJMatrixAssemble", self.matrix)
        call(self.handle, "HYPRE_IJMatrixGetObject", self.matrix, ctypes.byref(self.a))
        self.b, self.x = self.vector(b), self.vector(np.zeros(n))

    def vector(self, values):
        """Its handle, and the ParCSR vector in it."""
        handle, inner, data = ctypes.c_void_p(), ctypes.c_void_p(), self.import_(values)
        call(self.handle, "HYPRE_IJVectorCreate", 0, 0, self.n - 1, ctypes.byref(handle))
        call(self.handle, "HYPRE_IJVectorSetObjectType", handle, self.PARCSR)
        call(self.handle, "HYPRE_IJVectorInitialize", handle)
        call(self.handle, "HYPRE_IJVectorSetValues", handle, self.n, pointer(self.rows), pointer(data))
        call(self.handle, "HYPRE_IJVectorAssemble", handle)
        call(self.handle, "HYPRE_IJVectorGetObject", handle, ctypes.byref(inner))
        return handle, inner

    def preconditioner(self, solver):
        h, amg = self.handle, ctypes.c_void_p()
        call(h, "HYPRE_BoomerAMGCreate", ctypes.byref(amg))
        for name, value in (("MaxIter", 1), ("RelaxType", 18), ("CoarsenType", 8), ("InterpType", 6)):
            call(h, f"HYPRE_BoomerAMGSet{name}", amg, value)
        call(h, "HYPRE_BoomerAMGSetTol", amg, ctypes.c_double(0.0))
        call(h, "HYPRE_PCGSetPrecond", solver, h.HYPRE_BoomerAMGSolve, h.HYPRE_BoomerAMGSetup, amg)
        return amg

    def solve(self, _rtol, _most, _counting):
        h, solver, iterations = self.handle, ctypes.c_void_p(), ctypes.c_int()
        call(h, "HYPRE_ParVectorSetConstantValues", self.x[1], ctypes.c_double(0.0))
        call(h, "HYPRE_ParCSRPCGCreate", 0, ctypes.byref(solver))
        call(h, "HYPRE_PCGSetTol", solver, ctypes.c_double(self.rtol))
        call(h, "HYPRE_PCGSetMaxIter", solver, self.most)
        call(h, "HYPRE_PCGSetTwoNorm", solver, 1)
        amg = self.preconditioner(solver) if self.amg else None
        call(h, "HYPRE_ParCSRPCGSetup", solver, self.a, self.b[1], self.x[1])
        code = h.HYPRE_ParCSRPCGSolve(solver, self.a, self.b[1], self.x[1])  # not 0 where it does not converge
        h.HYPRE_ClearAllErrors()
        call(h, "HYPRE_PCGGetNumIterations", solver, ctypes.byref(iterations))
        call(h, "HYPRE_ParCSRPCGDestroy", solver)
        if amg:
            call(h, "HYPRE_BoomerAMGDestroy", amg)
        self.iterations = iterations.value
        return None, code == 0

    def on_host(self, _):
        data = self.import_(np.zeros(self.n))
        call(self.handle, "HYPRE_IJVectorGetValues", self.x[0], self.n, pointer(self.rows), pointer(data))
        return data.get() if hasattr(data, "get") else data


# ---- records ----

def contestants(options):
    """{name: how to make it of a matrix and b}; those whose library is there."""
    found = {}
    try:
        import cupy
        cupy.cuda.Device().synchronize()
        found.update({f"cupy-{method}": lambda a, b, method=method: Cupy(a, b, method) for method in ("cg", "gmres")})
    except Exception as error:  # no module, or no device: either way it is not there
        print(f"cupy: not there ({error})")
    for kind in ("cg", "amg-cg"):
        if options.amgx:
            found[f"amgx-{kind}"] = lambda a, b, kind=kind: Amgx(options.amgx, a, b, kind, options.rtol, options.most)
        if options.hypre:
            found[f"hypre-{kind}"] = lambda a, b, kind=kind: Hypre(options.hypre, a, b, kind, options.rtol,
                                                                   options.most, options.hypre_on == "gpu")
    return {name: make for name, make in found.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in options.contestant.split(","))}


def measure(solver, matrix, b, options):
    """What a record has of one contestant."""
    samples, x, claimed = [], None, False
    for k in range(-1, options.repeat):  # -1: warm-up
        start = time.perf_counter()
        x, claimed = solver.solve(options.rtol, options.most, False)
        samples += [time.perf_counter() - start] if k >= 0 else []
    residual = b - matrix @ solver.on_host(x)
    relative = float(np.linalg.norm(residual) / np.linalg.norm(b))
    if isinstance(solver, Cupy):
        solver.solve(options.rtol, options.most, True)
    return {"of": "solve", "seconds": {"min": min(samples), "median": float(np.median(samples)), "max": max(samples)},
            "samples": len(samples), "calls_per_sample": 1, "iterations": solver.iterations, "claimed": bool(claimed),
            "verified": bool(claimed and relative <= options.rtol), "true_relative_residual": relative,
            "solved": bool(claimed), "reason": "rtol" if claimed else "iterations"}


def record_of(name, make, source, matrix, device, options):
    label, a = matrix
    n, b = a.shape[0], a @ np.ones(a.shape[0])
    record = dict.fromkeys(("part", "bytes", "gbs", "share_of_ceiling", "setup_seconds", "refused", "seconds",
                            "samples", "calls_per_sample", "iterations", "true_relative_residual"))
    record.update({"study": "krylov", "set": "others", "matrix": label, "nrows": n, "ncols": n, "nnz": a.nnz,
                   "contestant": name, "ours": False, "device": device, "precision": "fp64", "of": "solve",
                   "in_cache": False, "solver": "gmres" if name.endswith("gmres") else "cg", "source": source,
                   "rtol": options.rtol})
    try:
        solver = make(a, b)
        record.update(library_version=solver.version, **measure(solver, a, b, options))
        print(f"{label:<20} {name:<14} {1e3 * record['seconds']['median']:10.3f} ms {record['iterations']:6d} it, "
              f"residual {record['true_relative_residual']:.2e} {'verified' if record['verified'] else 'NOT verified'}")
    except Exception as error:  # another library's failure is a record, not the end of the run
        record["refused"] = f"{type(error).__name__}: {error}"
        print(f"{label:<20} {name:<14} not run: {record['refused']}")
    return record


def report_of(records, device):
    folder = pathlib.Path(__file__).resolve().parent
    commit = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"], capture_output=True, text=True,
                            check=False).stdout.strip() or "unknown"
    versions = dict.fromkeys(record["library_version"] for record in records if "library_version" in record)
    return {"program": "others.py", "study": "krylov", "version": ", ".join(versions) or "unknown", "commit": commit,
            "device": device, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "quick": False, "failures": 0, "skipped": [], "results": records}


def device_name():
    try:
        import cupy
        return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception:  # without CuPy nobody asks
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrix", action="append", help="FILE.mtx[.gz], gallery:laplace2d:N or gallery:laplace3d:N")
    parser.add_argument("--contestant", default="*", help="names and patterns with commas: cupy-cg, hypre-amg-cg, ..")
    parser.add_argument("--rtol", type=float, default=1e-10)
    parser.add_argument("--max-iterations", dest="most", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--hypre", help="libHYPRE.so")
    parser.add_argument("--hypre-on", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--amgx", help="libamgxsh.so")
    parser.add_argument("--json", help="write the records to this file")
    parser.add_argument("--how", action="store_true", help="how to build hypre and AmgX, and end")
    options = parser.parse_args()
    if options.how:
        print(HOW, end="")
        return 0
    chosen = contestants(options)
    if not chosen:
        raise SystemExit("others.py: no contestant to run: CuPy or its device is missing, and --hypre and --amgx name "
                         "no library that --contestant has")
    device, records = device_name(), []
    for source in options.matrix or MATRICES:
        matrix = load_matrix(source)
        records += [record_of(name, make, source, matrix, device, options) for name, make in chosen.items()]
    if options.json:
        report = report_of(records, device)
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
