# SPDX-License-Identifier: Apache-2.0
"""torch-sla: the Krylov methods of its PyTorch backend, with its preconditioners."""
import warnings

from base import Solver
from problems import SPD, SYMMETRIC, UNSYMMETRIC

HOW = """torch-sla: pip install torch-sla (and a PyTorch with CUDA)
"""


class TorchSla(Solver):
    """Its tolerance is one of ||r||, so that it gets rtol ||b||. It returns x alone, which counts as a claim unless it
    warned; iterations are not told."""

    MANY = False
    FOR = {SPD: ("cg-jacobi", "cg-auto", "cg-amg", "cg-polynomial"), SYMMETRIC: ("minres-jacobi",),
           UNSYMMETRIC: ("bicgstab-jacobi", "bicgstab-auto", "gmres-jacobi")}

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import torch
        import torch_sla
        self.torch, self.solve_by, self.version = torch, torch_sla.spsolve, "torch-sla " + torch_sla.__version__
        self.device = "cuda" if self.on_gpu else "cpu"
        coo = problem.matrix.tocoo()
        self.values, self.rows, self.columns, self.b = (
            torch.as_tensor(array).to(self.device) for array in
            (coo.data, coo.row.astype("int64"), coo.col.astype("int64"), problem.b))

    def wait(self):
        if self.on_gpu:
            self.torch.cuda.synchronize()

    def solve(self):
        method, preconditioner = self.setting.split("-")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.x = self.solve_by(
                self.values, self.rows, self.columns, self.problem.matrix.shape, self.b, backend="pytorch",
                method=method, atol=self.rtol * float(self.b.norm()), maxiter=10000,
                preconditioner=preconditioner, is_symmetric=self.problem.kind != UNSYMMETRIC,
                is_spd=self.problem.kind == SPD)
        self.claimed = not any("onverge" in str(w.message) for w in told)

    def answer(self):
        return self.x.detach().cpu().numpy()
