# SPDX-License-Identifier: Apache-2.0
"""Tessera as a contestant."""
import numpy as np

from base import MOST, Solver, on_device
from problems import SPD, SYMMETRIC, UNSYMMETRIC


class Tessera(Solver):
    """`auto` has the tolerance, and coordinates where nodes have them: no method is named."""

    SETTINGS = {
        "auto": {}, "cg-jacobi": {"solver": "cg", "precond": "jacobi"}, "cg-amg": {"solver": "cg", "precond": "amg"},
        "cg-fsai": {"solver": "cg", "precond": "fsai"}, "cg-cholesky": {"solver": "cg", "precond": "cholesky"},
        "bicgstab-amg": {"solver": "bicgstab", "precond": "amg"},
        "gmres-ilu0": {"solver": "gmres", "precond": "ilu0"}, "gmres-lu": {"solver": "gmres", "precond": "lu"},
        "minres": {"solver": "minres"}, "fgmres-saddle": {"solver": "fgmres", "precond": "saddle"},
    }
    FOR = {SPD: ("auto", "cg-jacobi", "cg-amg", "cg-fsai", "cg-cholesky"),
           UNSYMMETRIC: ("auto", "bicgstab-amg", "gmres-ilu0", "gmres-lu"),
           SYMMETRIC: ("auto", "minres", "gmres-lu", "fgmres-saddle")}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import tessera_sparse as ts
        self.ts, beside = ts, " with cuDSS" if "cudss" in options.libraries else ""
        self.version = "Tessera " + ts.__version__ + beside
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
