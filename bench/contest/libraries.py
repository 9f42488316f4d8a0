# SPDX-License-Identifier: Apache-2.0
"""The contestants: Python libraries here, those of C in native.py. Each has set-up, solve and answer, and says what it
claims."""
import importlib
import os
import platform
import subprocess

import numpy as np

import native
import problems
from problems import SPD, SYMMETRIC, UNSYMMETRIC

MOST = 2000  # iterations
HOW = native.HOW + """Of Python: pip install pyamg scipy cupy-cuda13x; petsc4py comes with PETSc (Debian:
python3-petsc4py, for /usr/bin/python3: --python-of petsc=/usr/bin/python3, with tessera_sparse on its path).
"""


def norm(x):
    """The 2-norm, for any size of its values."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return largest * float(np.linalg.norm(x / largest)) if 0.0 < largest < float("inf") else largest


class Solver:
    """What a contestant is. `choice` is what it took where it chooses."""

    version, iterations, claimed, choice = "", 0, False, None

    def __init__(self, problem, setting, options):
        self.problem, self.setting, self.rtol = problem, setting, options.rtol
        self.on_gpu = options.device == "cuda"

    def wait(self):
        """Until the device has done what was asked of it."""

    def setup(self):
        """Before each solve, anew."""

    def answer(self):
        return np.asarray(self.x)


def on_device(array):
    import cupy
    return cupy.asarray(array)


# ---- ours ----

class Tessera(Solver):
    """`auto` has the tolerance, and coordinates where nodes have them: no method is named."""

    SETTINGS = {
        "auto": {}, "cg-jacobi": {"solver": "cg", "precond": "jacobi"}, "cg-amg": {"solver": "cg", "precond": "amg"},
        "cg-fsai": {"solver": "cg", "precond": "fsai"}, "bicgstab-amg": {"solver": "bicgstab", "precond": "amg"},
        "fgmres-saddle": {"solver": "fgmres", "precond": "saddle"},
    }
    FOR = {SPD: ("auto", "cg-jacobi", "cg-amg", "cg-fsai"), UNSYMMETRIC: ("auto", "bicgstab-amg"),
           SYMMETRIC: ("auto", "fgmres-saddle")}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import tessera_sparse as ts
        self.ts, self.version = ts, "Tessera " + ts.__version__
        self.context = ts.Context(device="gpu" if self.on_gpu else "cpu")
        self.matrix = ts.Matrix(problem.matrix, context=self.context)
        self.options = dict(self.SETTINGS[setting], rtol=self.rtol)
        if setting != "auto":
            self.options["max_iterations"] = MOST
        if problem.coordinates is not None and setting in ("auto", "cg-amg"):
            self.options["coordinates"] = problem.coordinates
        self.b = on_device(problem.b) if self.on_gpu else problem.b

    def wait(self):
        if self.on_gpu:
            import cupy
            cupy.cuda.Device().synchronize()

    def setup(self):
        self.solver = self.ts.Solver(self.matrix, **self.options)

    def solve(self):
        result = self.solver.solve(self.b)
        self.x, self.iterations, self.claimed = result.x, result.iterations, result.converged
        self.choice = f"{result.solver} {result.precond}" if self.setting == "auto" else None

    def answer(self):
        return self.x.get() if hasattr(self.x, "get") else np.asarray(self.x)


# ---- SciPy, CuPy ----

class Scipy(Solver):
    FOR = {SPD: ("spsolve", "cg"), SYMMETRIC: ("spsolve", "ilu-gmres"), UNSYMMETRIC: ("spsolve", "ilu-gmres")}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import scipy
        import scipy.sparse.linalg as linalg
        self.linalg, self.version = linalg, "SciPy " + scipy.__version__
        self.a = problem.matrix.tocsc() if setting != "cg" else problem.matrix

    def count(self, _):
        self.iterations += 1

    def setup(self):
        if self.setting == "spsolve":
            self.factors = self.linalg.splu(self.a)
        elif self.setting == "ilu-gmres":
            self.factors = self.linalg.spilu(self.a, drop_tol=1e-4, fill_factor=10)

    def solve(self):
        linalg = self.linalg
        self.iterations, b, a = 0, self.problem.b, self.problem.matrix
        if self.setting == "spsolve":
            self.x, self.claimed = self.factors.solve(b), True
            return
        word = {"rtol" if "rtol" in linalg.cg.__code__.co_varnames else "tol": self.rtol, "atol": 0.0}
        if self.setting == "cg":
            self.x, info = linalg.cg(a, b, maxiter=MOST, callback=self.count, **word)
        else:
            m = linalg.LinearOperator(a.shape, self.factors.solve)
            self.x, info = linalg.gmres(a, b, M=m, restart=50, maxiter=MOST // 50, callback=self.count,
                                        callback_type="pr_norm", **word)
        self.claimed = info == 0


class Cupy(Solver):
    """cupyx.scipy.sparse.linalg; iterations are not counted, as a call back at each would take time."""

    FOR = {SPD: ("cg",), SYMMETRIC: ("gmres",), UNSYMMETRIC: ("gmres",)}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import cupy
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg as linalg
        self.cupy, self.solve_by, self.version = cupy, getattr(linalg, setting), "CuPy " + cupy.__version__
        self.a, self.b = cupyx.scipy.sparse.csr_matrix(problem.matrix), cupy.asarray(problem.b)

    def wait(self):
        self.cupy.cuda.Device().synchronize()

    def solve(self):
        names = self.solve_by.__code__.co_varnames
        word = {"rtol" if "rtol" in names else "tol": self.rtol, "atol": 0.0}
        if self.setting == "gmres":
            word["restart"] = 50
        self.x, info = self.solve_by(self.a, self.b, maxiter=10000, **word)
        self.claimed = info == 0

    def answer(self):
        return self.cupy.asnumpy(self.x)


# ---- PyAMG ----

class Pyamg(Solver):
    FOR = {SPD: ("smoothed-aggregation", "ruge-stuben", "root-node", "adaptive"), SYMMETRIC: ("smoothed-aggregation",),
           UNSYMMETRIC: ("air", "smoothed-aggregation")}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import pyamg
        self.pyamg, self.version = pyamg, "PyAMG " + pyamg.__version__
        self.modes, self.a = None, problem.matrix
        if problem.coordinates is not None:
            self.modes = problems.rigid_body_modes(problem.coordinates)
            self.a = problem.matrix.tobsr((problem.unknowns,) * 2)

    def setup(self):
        p, a = self.pyamg, self.a
        if self.setting == "smoothed-aggregation":
            word = {} if self.problem.kind == SPD else {"symmetry": "nonsymmetric"}
            self.levels = p.smoothed_aggregation_solver(a, B=self.modes, **word)
        elif self.setting == "root-node":
            self.levels = p.rootnode_solver(a, B=self.modes, strength="evolution", smooth=("energy", {"degree": 2}))
        elif self.setting == "ruge-stuben":
            self.levels = p.ruge_stuben_solver(self.problem.matrix)
        elif self.setting == "adaptive":
            found = p.aggregation.adaptive_sa_solver(a, num_candidates=2 if self.modes is None else 6)
            self.levels = found[0]
        else:
            self.levels = p.air_solver(self.problem.matrix)

    def solve(self):
        accelerator = "cg" if self.problem.kind == SPD else "gmres" if self.setting != "air" else "bicgstab"
        residuals = []
        self.x, info = self.levels.solve(self.problem.b, tol=self.rtol, accel=accelerator, residuals=residuals,
                                         maxiter=500, return_info=True)
        self.iterations, self.claimed = len(residuals) - 1, info == 0


# ---- PETSc, on a host ----

class Petsc(Solver):
    SETTINGS = {
        "cg-gamg": "-ksp_type cg -pc_type gamg", "cg-hypre": "-ksp_type cg -pc_type hypre",
        "cg-icc": "-ksp_type cg -pc_type icc", "cg-jacobi": "-ksp_type cg -pc_type jacobi",
        "bicgstab-ilu": "-ksp_type bcgs -ksp_pc_side right -pc_type ilu",
        "gmres-gamg": "-ksp_type gmres -ksp_pc_side right -pc_type gamg",
        "gmres-hypre": "-ksp_type gmres -ksp_pc_side right -pc_type hypre",
        "mumps": "-ksp_type preonly -pc_type lu -pc_factor_mat_solver_type mumps",
        "minres-jacobi": "-ksp_type minres -pc_type jacobi",
        "gmres-fieldsplit": "-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_detect_saddle_point "
                            "-pc_fieldsplit_type schur -pc_fieldsplit_schur_fact_type upper "
                            "-pc_fieldsplit_schur_precondition selfp -fieldsplit_0_pc_type gamg "
                            "-fieldsplit_0_ksp_type preonly -fieldsplit_1_ksp_type preonly "
                            "-fieldsplit_1_pc_type jacobi",
    }
    FOR = {SPD: ("cg-gamg", "cg-hypre", "cg-icc", "cg-jacobi", "mumps"),
           UNSYMMETRIC: ("gmres-hypre", "bicgstab-ilu", "gmres-gamg", "mumps"),
           SYMMETRIC: ("gmres-fieldsplit", "minres-jacobi", "mumps")}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import petsc4py
        petsc4py.init(["contest"])
        from petsc4py import PETSc
        self.petsc, self.version = PETSc, "PETSc " + ".".join(map(str, PETSc.Sys.getVersion()))
        a = problem.matrix
        self.a = PETSc.Mat().createAIJ(a.shape, csr=(a.indptr, a.indices, a.data), bsize=problem.unknowns,
                                       comm=PETSc.COMM_SELF)
        self.a.assemble()
        if problem.coordinates is not None:
            coordinates = PETSc.Vec().createWithArray(problem.coordinates.ravel().copy(), bsize=problem.unknowns,
                                                      comm=PETSc.COMM_SELF)
            self.a.setNearNullSpace(PETSc.NullSpace().createRigidBody(coordinates))
        if problem.kind == SPD:
            self.a.setOption(PETSc.Mat.Option.SPD, True)
        self.b, self.x_ = self.a.createVecRight(), self.a.createVecRight()
        self.b.setArray(problem.b)

    def setup(self):
        database = self.petsc.Options()
        words = self.SETTINGS[self.setting].split()
        k = 0
        while k < len(words):
            has_value = k + 1 < len(words) and not words[k + 1].startswith("-")
            database.setValue(words[k], words[k + 1] if has_value else None)
            k += 2 if has_value else 1
        self.ksp = self.petsc.KSP().create(self.petsc.COMM_SELF)
        self.ksp.setOperators(self.a)
        self.ksp.setFromOptions()
        self.ksp.setTolerances(rtol=self.rtol, atol=0.0, max_it=MOST)
        if self.ksp.getType() != "preonly":
            self.ksp.setNormType(self.petsc.KSP.NormType.DEFAULT if self.ksp.getType() == "minres"
                                 else self.petsc.KSP.NormType.UNPRECONDITIONED)
        self.ksp.setUp()

    def solve(self):
        self.x_.set(0.0)
        self.ksp.solve(self.b, self.x_)
        self.iterations, self.claimed = self.ksp.getIterationNumber(), self.ksp.getConvergedReason() > 0

    def answer(self):
        return self.x_.getArray().copy()


PYTHON = {"tessera": Tessera, "scipy": Scipy, "cupy": Cupy, "pyamg": Pyamg, "petsc": Petsc}
NEEDS = {"tessera": "tessera_sparse", "scipy": "scipy", "cupy": "cupy", "pyamg": "pyamg", "petsc": "petsc4py"}


def is_there(name, options):
    """Whether its Python has the module."""
    if name in options.python:
        done = subprocess.run([options.python[name], "-c", f"import {NEEDS[name]}, tessera_sparse"],
                              capture_output=True, check=False)
        return done.returncode == 0
    try:
        importlib.import_module(NEEDS[name])
        return True
    except ImportError:
        return False


def contestants(kind, options):
    """LIBRARY:SETTING of all that are found for a matrix of that kind."""
    names = []
    for name, solver in PYTHON.items():
        if name != "tessera" and (name == "cupy") != (options.device == "cuda"):
            continue
        names += [f"{name}:{setting}" for setting in solver.FOR[kind]] if is_there(name, options) else []
    for name, solver in native.LIBRARIES.items():
        if name in options.libraries:
            names += [f"{name}:{setting}" for setting in solver.FOR[kind]]
    return names


def make(contestant, problem, options):
    name, setting = contestant.split(":", 1)
    if name in PYTHON:
        return PYTHON[name](problem, setting, options)
    return native.LIBRARIES[name](options.libraries[name], problem, setting, options)


def hardware(device):
    if device == "cuda":
        import cupy
        return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors"
