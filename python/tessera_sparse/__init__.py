# SPDX-License-Identifier: Apache-2.0
"""
Tessera: sparse linear systems in mixed precision, with a verified answer.

    import tessera_sparse as ts
    result = ts.solve(A, b, rtol=1e-10)     A: SciPy sparse, dense, CSR arrays, CuPy, PyTorch, JAX
    result.x, result.verified, result.why

`cg`, `bicgstab`, `gmres`, `minres`, `fgmres`, `lsqr`, `lsmr`, `idrs`, `spsolve` and `splu` have SciPy's signatures.
`tessera_sparse.torch.solve` and `tessera_sparse.jax.solve` have derivatives; `tessera_sparse.lineax` has a solver.
Documentation: docs/python.
"""
from ._advise import AdvisedAttempt, advise
from ._batch import BatchResult, solve_batch
from ._context import Context, default_context, use_context
from ._direct import Factors, factorized, spilu, splu, spsolve, spsolve_triangular
from ._errors import (ConvergenceError, TesseraError, TesseraFileError, TesseraMemoryError, TesseraUnsupportedError,
                      TesseraValueError)
from ._least_squares import lsmr, lsqr
from ._library import lib as _lib
from ._matrix import Matrix
from ._option_types import Options
from ._options import option_names
from ._precond import (Preconditioner, amg, block_jacobi, cholesky, fsai, ic0, ict, ilu0, iluk, ilut, isai, jacobi,
                       jacobi_sweeps, lu, polynomial, saddle)
from ._result import Result
from ._scipy import bicg, bicgstab, cg, cgs, fgmres, gcrotmk, gmres, idrs, lgmres, minres, qmr, tfqmr
from ._sequence import Sequence, SequenceResult
from ._solver import Solver, solve
from ._verify import Verification, verify

__version__ = _lib.tess_version().decode()
__all__ = [
    "AdvisedAttempt", "BatchResult", "Context", "ConvergenceError", "Factors", "Matrix", "Options", "Preconditioner",
    "Result", "Sequence", "SequenceResult", "Solver", "TesseraError", "TesseraFileError", "TesseraMemoryError",
    "TesseraUnsupportedError", "TesseraValueError", "Verification", "advise", "amg", "bicg", "bicgstab",
    "block_jacobi", "cg", "cgs", "cholesky", "default_context", "factorized", "fgmres", "fsai", "gcrotmk", "gmres",
    "ic0", "ict", "idrs", "ilu0", "iluk", "ilut", "isai", "jacobi", "jacobi_sweeps", "lgmres", "lsmr", "lsqr", "lu",
    "minres", "option_names", "polynomial", "qmr", "saddle", "solve", "solve_batch", "spilu", "splu", "spsolve",
    "spsolve_triangular", "tfqmr", "use_context", "verify",
]


def __getattr__(name):
    if name in ("torch", "jax", "lineax"):
        import importlib
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
