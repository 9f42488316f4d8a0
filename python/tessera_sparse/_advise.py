# SPDX-License-Identifier: Apache-2.0
"""Which methods suit a matrix, as an automatic solve tries them."""
import ctypes

from . import _abi
from ._library import check, lib, new_struct, to_dict
from ._matrix import as_matrix
from ._options import options_with


class AdvisedAttempt:
    """
    One attempt that an automatic solve would make; attributes are those of `tess_advised_attempt`
    (include/tessera/advise.h): `solver`, `precond`, `factors` (their precision), `scale`, `reorder`, `why`.

    Examples
    --------
    >>> import tessera_sparse as ts
    >>> [attempt.precond for attempt in ts.advise(ts.Matrix.gallery("laplace2d", 50))][:2]
    ['jacobi', 'ic0']
    """

    def __init__(self, raw):
        self.__dict__.update(to_dict(raw))
        self.last, self.open = bool(self.last), bool(self.open)

    def __repr__(self):
        return f"<{self.solver}, {self.precond}: {self.why}>"


def advise(A, *, context=None, **options):
    """
    The attempts that `solve(A, b, **options)` would make, in order. Nothing is solved.

    The first attempt that solves the system ends a solve; the others follow where one fails, or should take longer.

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
    options
        Those of `solve`. A solver that they name is the only attempt.

    Returns
    -------
    list of AdvisedAttempt
        Empty for a matrix with NaN or Inf.

    Examples
    --------
    >>> import tessera_sparse as ts
    >>> first = ts.advise(ts.Matrix.gallery("laplace2d", 50))[0]
    >>> first.solver, first.precond, first.why
    ('cg', 'jacobi', 'little set-up')
    """
    matrix, keep, raw = as_matrix(A, context).form, [], new_struct(_abi.tess_advice)
    wanted = options_with(options, keep)
    with matrix.context.lock:
        check(lib.tess_advise(matrix.pointer, ctypes.byref(wanted), ctypes.byref(raw)), matrix.context.pointer)
    return [AdvisedAttempt(attempt) for attempt in raw.attempt[:raw.count]]
