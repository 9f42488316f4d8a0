# SPDX-License-Identifier: Apache-2.0
"""Contestants in Python: SciPy, scikit-sparse's CHOLMOD, CuPy, PyAMG."""
import importlib.metadata

import problems
from base import MOST, Solver, on_device
from problems import SPD, SYMMETRIC, UNSYMMETRIC

HOW = """Of Python: pip install pyamg scipy cupy-cuda13x.
CHOLMOD: SuiteSparse (Debian: libsuitesparse-dev) and pip install 'scikit-sparse<0.5', which builds with Debian 12's.
"""


# ---- SciPy ----

class Scipy(Solver):
    """SuperLU by two orderings, the second with the options that SciPy's manual gives for symmetric patterns; methods
    with its incomplete factors."""

    ILU = {"drop_tol": 1e-4, "fill_factor": 10}
    SYMMETRIC_MODE = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    FOR = {SPD: ("spsolve", "spsolve-symmetric", "cg", "cg-jacobi", "ilu-gmres"),
           SYMMETRIC: ("spsolve", "spsolve-mmd", "minres", "ilu-gmres"),
           UNSYMMETRIC: ("spsolve", "spsolve-mmd", "ilu-gmres", "ilu-bicgstab")}
    OTHER_NORM = ("minres",)  # over |A| |x|

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import scipy
        import scipy.sparse.linalg as linalg
        self.linalg, self.version = linalg, "SciPy " + scipy.__version__
        self.is_direct = setting.startswith("spsolve")
        self.a = problem.matrix.tocsc() if self.is_direct or setting.startswith("ilu") else problem.matrix
        self.tolerance = {"rtol" if "rtol" in linalg.cg.__code__.co_varnames else "tol": self.rtol, "atol": 0.0}
        self.preconditioner = None

    def count(self, _):
        self.counted += 1

    def setup(self):
        linalg = self.linalg
        if self.is_direct:
            words = {"spsolve": {}, "spsolve-mmd": {"permc_spec": "MMD_AT_PLUS_A"},
                     "spsolve-symmetric": self.SYMMETRIC_MODE}[self.setting]
            self.factors = linalg.splu(self.a, **words)
        elif self.setting.startswith("ilu"):
            self.preconditioner = linalg.LinearOperator(self.a.shape, linalg.spilu(self.a, **self.ILU).solve)
        elif self.setting == "cg-jacobi":
            inverse = 1.0 / self.a.diagonal()
            self.preconditioner = linalg.LinearOperator(self.a.shape, lambda x: inverse * x)

    def solve(self):
        if self.is_direct:
            self.x = self.factors.solve(self.problem.b)
        else:
            super().solve()

    def solve_column(self, b):
        linalg, a, m = self.linalg, self.problem.matrix, self.preconditioner
        self.counted = 0
        if self.setting == "minres":  # it knows rtol or tol alone
            word = {key: value for key, value in self.tolerance.items() if key != "atol"}
            x, info = linalg.minres(a, b, maxiter=MOST, callback=self.count, **word)
        elif self.setting == "ilu-gmres":
            x, info = linalg.gmres(a, b, M=m, restart=50, maxiter=MOST // 50, callback=self.count,
                                   callback_type="pr_norm", **self.tolerance)
        else:
            method = linalg.bicgstab if self.setting == "ilu-bicgstab" else linalg.cg
            x, info = method(a, b, M=m, maxiter=MOST, callback=self.count, **self.tolerance)
        return x, self.counted, info == 0


# ---- CHOLMOD ----

class Cholmod(Solver):
    """By scikit-sparse; `auto` takes supernodes where a column has many operations."""

    FOR = {SPD: ("auto", "supernodal", "simplicial"), SYMMETRIC: (), UNSYMMETRIC: ()}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        from sksparse import cholmod
        self.cholmod, self.version = cholmod, "scikit-sparse " + importlib.metadata.version("scikit-sparse")
        self.a = problem.matrix.tocsc()

    def setup(self):
        self.factor = self.cholmod.cholesky(self.a, mode=self.setting)

    def solve(self):
        self.x = self.factor(self.problem.b)


# ---- CuPy ----

class Cupy(Solver):
    """cupyx.scipy.sparse.linalg; iterations are not counted, as a call back at each would take time."""

    FOR, MANY = {SPD: ("cg",), SYMMETRIC: ("gmres",), UNSYMMETRIC: ("gmres",)}, False

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import cupy
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg as linalg
        self.cupy, self.method, self.version = cupy, getattr(linalg, setting), "CuPy " + cupy.__version__
        self.a, self.b = cupyx.scipy.sparse.csr_matrix(problem.matrix), on_device(problem.b)

    def wait(self):
        self.cupy.cuda.Device().synchronize()

    def solve(self):
        names = self.method.__code__.co_varnames
        word = {"rtol" if "rtol" in names else "tol": self.rtol, "atol": 0.0}
        if self.setting == "gmres":
            word["restart"] = 50
        self.x, info = self.method(self.a, self.b, maxiter=10000, **word)
        self.claimed = info == 0

    def answer(self):
        return self.cupy.asnumpy(self.x)


# ---- PyAMG ----

class Pyamg(Solver):
    FOR = {SPD: ("smoothed-aggregation", "ruge-stuben", "root-node", "adaptive"),
           SYMMETRIC: ("smoothed-aggregation", "root-node", "ruge-stuben"),
           UNSYMMETRIC: ("air", "smoothed-aggregation", "root-node")}

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
        word = {"symmetry": "nonsymmetric"} if self.problem.kind == UNSYMMETRIC else {}
        if self.setting == "smoothed-aggregation":
            self.levels = p.smoothed_aggregation_solver(a, B=self.modes, **word)
        elif self.setting == "root-node":
            self.levels = p.rootnode_solver(a, B=self.modes, strength="evolution", smooth=("energy", {"degree": 2}),
                                            **word)
        elif self.setting == "ruge-stuben":
            self.levels = p.ruge_stuben_solver(self.problem.matrix)
        elif self.setting == "adaptive":
            found = p.aggregation.adaptive_sa_solver(a, num_candidates=2 if self.modes is None else 6)
            self.levels = found[0]
        else:
            self.levels = p.air_solver(self.problem.matrix)

    def solve_column(self, b):
        # its gmres stops by the norm of M r
        accelerator = "cg" if self.problem.kind == SPD else "fgmres" if self.setting != "air" else "bicgstab"
        residuals = []
        x, info = self.levels.solve(b, tol=self.rtol, accel=accelerator, residuals=residuals, maxiter=500,
                                    return_info=True)
        return x, len(residuals) - 1, info == 0
