# SPDX-License-Identifier: Apache-2.0
"""SciPy's direct solves: spsolve, splu, spilu, factorized, spsolve_triangular."""
import warnings

import numpy as np

from . import _arrays, _handed_out
from ._errors import ConvergenceError
from ._matrix import as_matrix
from ._precond import Preconditioner
from ._scipy import _system, checked_tolerance
from ._solver import Solver
from ._verify import verify

_UNIT = float(np.finfo(np.float64).eps) / 2
_BACKWARD = 4 * _UNIT  # a row's b - A x is as small as the rounding of its own sum: no x in FP64 does better by much
_DEFAULT = 1e-5  # the rtol of the package: with a larger residual A may be singular, and x is no answer


def _is_exact_for_near(result):
    """Whether every x is proved to solve a system whose entries differ by roundings, with a residual below _DEFAULT."""
    return all(column.verified or _near(column) for column in result.columns)


def _near(column):
    rows, raw = column._raw.rows, column._raw
    return (rows.backward_error + rows.backward_bound <= _BACKWARD and
            raw.residual_norm + raw.residual_bound <= _DEFAULT * raw.rhs_norm)


def _dense(b):
    """(b as a dense array, function that makes x what SciPy returns)."""
    if not hasattr(b, "toarray"):
        return b, lambda x: x.reshape(-1) if len(x.shape) == 2 and x.shape[1] == 1 else x
    kind, one = type(b), len(b.shape) == 1 or b.shape[1] == 1
    if one:
        return b.toarray().reshape(-1), lambda x: x
    return b.toarray(), lambda x: kind(x)


def spsolve(A, b, permc_spec=None, use_umfpack=True, *, rtol=1e-10, **options):
    """
    Solves A x = b by the method that the library chooses, and returns x.

    Unlike `scipy.sparse.linalg.spsolve` it need not compute complete factors, and it returns no x that is wrong: it
    raises `ConvergenceError`, whose `result` says why. `solve` returns that `Result` instead.

    Parameters
    ----------
    A : sparse array or matrix, dense array, or Matrix
    b : array of n values, or of n by k; or sparse, of n by k: then x is sparse too, of b's type. n by 1 gives n values.
    permc_spec, use_umfpack
        For SciPy's callers; not read.
    rtol : float
        ||b - A x|| <= rtol ||b||, also with rows scaled to one size. Where no FP64 number can reach that, x is taken
        whose row-wise backward error is proved to be at most 4 roundings (4.4e-16), with a residual of at most 1e-5.
    **options : those of `Solver`

    Examples
    --------
    >>> import numpy as np, scipy.sparse, tessera_sparse as ts
    >>> A = scipy.sparse.csr_array([[3.0, 2.0, 0.0], [1.0, -1.0, 0.0], [0.0, 5.0, 1.0]])
    >>> ts.spsolve(A, np.array([2.0, 4.0, -1.0])).round(9)
    array([ 2., -2.,  9.])
    """
    b, as_scipys = _dense(b)
    matrix, b, _ = _system(A, b, None)
    if options.get("solver") not in ("lsqr", "lsmr"):  # these have the norm as given alone
        options.setdefault("stop_norm", "both")
    solver = Solver(matrix, rtol=checked_tolerance("rtol", rtol), **options)
    result = solver._solve_typed(b, None, _handed_out.direct_type_of_x(matrix, b))
    if not result.verified and not _is_exact_for_near(result):
        raise ConvergenceError(result)
    return as_scipys(result.x)


class Factors:
    """
    Complete or incomplete factors of A, as `splu` and `spilu` return them.

    Attributes: `shape`; `precond`, the `Preconditioner` that has the factors. L, U and permutations are not handed out.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> factors = ts.spilu(ts.Matrix.gallery("laplace2d", 20))
    >>> factors.solve(np.ones((400, 2))).shape
    (400, 2)
    """

    def __init__(self, matrix, precond, rtol):
        self.matrix, self.precond, self.shape, self._rtol = matrix, precond, matrix.shape, rtol
        self._transpose = self._refiner = None

    def solve(self, rhs, trans="N"):
        """
        x of A x = rhs, or with trans "T" or "H" of A^T x = rhs. rhs: n values, or n by k.

        `splu`: the factors are applied once, and x is verified. Where it misses the tolerance it is refined;
        `ConvergenceError` if that fails too. `spilu`: the factors are applied; nothing is verified.
        """
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans={trans!r} is none of: N, T, H")
        if trans != "N":
            if self._transpose is None:
                self._transpose = self if self.matrix.T is self.matrix else self._of_transpose()
            return self._transpose.solve(rhs)
        b = np.asarray(_arrays.host_array(rhs, "rhs"), dtype=np.float64)
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[0]:
            raise ValueError(f"rhs is of incompatible size: {b.shape}; the matrix has {self.shape[0]} rows")
        if b.size == 0:
            return np.zeros(b.shape)
        x = self.precond.matmat(b) if b.ndim == 2 else self.precond.matvec(b)
        return x if self._rtol is None else self._verified(b, x)

    def _of_transpose(self):
        made = dict(self.precond._made_from)
        return Factors(self.matrix.T, Preconditioner(self.matrix.T, made.pop("precond"), **made), self._rtol)

    def _verified(self, b, x):
        if np.isfinite(x).all():
            checked = verify(self.matrix, b, x, rtol=self._rtol)
            if all(map(_holds, checked.columns or [checked])):
                return x
        else:
            x = None
        if self._refiner is None:
            self._refiner = Solver(self.matrix, solver="gmres", precond=self.precond, rtol=self._rtol,
                                   stop_norm="both")
        result = self._refiner.solve(b, x)
        if not result.verified and not _is_exact_for_near(result):
            raise ConvergenceError(result)
        return result.x

    def __repr__(self):
        return f"<tessera_sparse.Factors: {self.precond.kind}, {self.shape[0]} rows>"


def _holds(checked):
    """Whether a verification meets its tolerance, or is exact for a system nearby."""
    rows = checked.rows
    return checked.met or (rows["backward_error"] + rows["backward_bound"] <= _BACKWARD and
                           checked.residual_norm + checked.residual_bound <= _DEFAULT * checked.rhs_norm)


def _square(A):
    matrix = as_matrix(A)
    if matrix.is_operator or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"can only factor square matrices, not {matrix!r}")
    return matrix


def splu(A, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None, *, rtol=1e-10):
    """
    Complete LU factors in FP64 (needs MUMPS); `splu(A).solve(b)` applies them once, and verifies x.

    Parameters
    ----------
    A : sparse array or matrix, dense array, or Matrix; square
    permc_spec, diag_pivot_thresh, relax, panel_size, options
        For SciPy's callers; not read.
    rtol : float
        What `solve` verifies, as `spsolve` has it.

    Returns
    -------
    Factors
        With `solve(rhs, trans="N")`. Of a singular matrix it raises `ConvergenceError`, unless its x is verified; a
        matrix without entries has no factors.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix([[3.0, 2.0], [1.0, -1.0]])
    >>> ts.splu(A).solve(np.array([7.0, -1.0])).round(12)
    array([1., 2.])
    """
    matrix = _square(A)
    return Factors(matrix, Preconditioner(matrix, "lu", precond_precision="fp64"),
                   checked_tolerance("rtol", rtol))


def spilu(A, drop_tol=None, fill_factor=None, drop_rule=None, permc_spec=None, diag_pivot_thresh=None, relax=None,
          panel_size=None, options=None):
    """
    Incomplete LU factors by a threshold: those of `ilut`. `spilu(A).solve(r)` applies them, for use as M.

    Parameters
    ----------
    A : sparse array or matrix, dense array, or Matrix; square
    drop_tol, fill_factor : float, optional
        Relative threshold (1e-4), most entries of a row over the matrix's (10).
    drop_rule, permc_spec, diag_pivot_thresh, relax, panel_size, options
        For SciPy's callers; not read.

    Returns
    -------
    Factors

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix.gallery("laplace2d", 20)
    >>> ts.bicgstab(A, np.ones(400), M=ts.spilu(A))[1]
    0
    """
    drop, fill = 1e-4 if drop_tol is None else drop_tol, 10 if fill_factor is None else fill_factor
    matrix = _square(A)
    return Factors(matrix, Preconditioner(matrix, f"ilut:{float(drop):g}:{float(fill):g}"), None)


def factorized(A):
    """
    A function that solves A x = b by complete factors of A: `splu(A).solve`.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> solve = ts.factorized(np.array([[3.0, 2.0], [1.0, -1.0]]))
    >>> solve(np.array([7.0, -1.0])).round(12)
    array([1., 2.])
    """
    return splu(A).solve


def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    """
    Solves A x = b for a triangular A by substitution. Entries on the other side of the diagonal are not read.

    Parameters
    ----------
    A : sparse array or matrix, dense array, or Matrix; square
    b : array of n values, or of n by k
    lower : bool
        Whether A is lower triangular.
    overwrite_A, overwrite_b
        For SciPy's callers: nothing is overwritten.
    unit_diagonal : bool
        True: the diagonal is 1, whatever A has there.

    Raises `numpy.linalg.LinAlgError` for a zero on the diagonal, `ConvergenceError` if x cannot be verified.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, tessera_sparse as ts
    >>> ts.spsolve_triangular(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]))
    array([1., 2.])
    """
    from scipy.sparse import csr_array, eye_array, tril, triu
    matrix = _square(A)
    entries, part, k = matrix.to_scipy(), tril if lower else triu, -1 if lower else 1
    if unit_diagonal:
        entries = csr_array(part(entries, k) + eye_array(matrix.shape[0]))
    else:
        entries = csr_array(part(entries))
        zero = np.flatnonzero(entries.diagonal() == 0.0)
        if zero.size:
            raise np.linalg.LinAlgError(f"A is singular: zero entry on the diagonal in row {zero[0]}")
    x = spsolve(entries, b)
    return x.reshape(np.shape(b)) if not hasattr(x, "toarray") else x
