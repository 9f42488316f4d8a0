# SPDX-License-Identifier: Apache-2.0
"""SciPy's direct solves: spsolve, splu, spilu, factorized, spsolve_triangular."""
import warnings

import numpy as np

from . import _abi, _arrays, _complex, _handed_out, _vectors
from ._errors import ConvergenceError, TesseraError
from ._library import check, lib
from ._matrix import Matrix, as_matrix
from ._precond import Preconditioner
from ._scipy import _system, checked_tolerance
from ._solver import Solver
from ._verify import tolerances, verify_columns, verify_vectors

_UNIT = float(np.finfo(np.float64).eps) / 2
_BACKWARD = 4 * _UNIT  # a row's b - A x is as small as the rounding of its own sum: no x in FP64 does better by much
_SQUARE_ROOT = 2.0**-26  # a backward error above this is that of no factors in FP64
_MOST_CONDITION = 0.125 / _UNIT  # beyond it factors in FP64 cannot tell A from a singular matrix
_DEFAULT = 1e-5  # the rtol of the package: with a larger residual A may be singular, and x is no answer


def _is_near(found):
    """Whether an x is proved to solve a system whose entries differ by roundings, with a residual below _DEFAULT."""
    rows = found.rows
    return (rows.backward_error + rows.backward_bound <= _BACKWARD and
            found.residual_norm + found.residual_bound <= _DEFAULT * found.rhs_norm)


def _is_exact_for_near(result):
    return all(column.verified or _is_near(column._raw) for column in result.columns)


class _Judge:
    """Verifies the columns of an x: by the tolerance in both norms or, where rounding does not allow it, as near."""

    def __init__(self, matrix, rtol):
        self.matrix, self.options = matrix, tolerances(rtol, 0.0, "both", False)

    def accepts(self, b, x):
        if b.ndim == 1:
            b, x = b[:, None], x[:, None]
        with self.matrix.context.lock:
            found = verify_columns(self.matrix, b, x, self.options)
        return all(column.met or _is_near(column) for column in found)


def _dense(b):
    """(b as a dense array, function that makes x what SciPy returns)."""
    if not hasattr(b, "toarray"):
        return b, lambda x: x.reshape(-1) if len(x.shape) == 2 and x.shape[1] == 1 else x
    kind, one = type(b), len(b.shape) == 1 or b.shape[1] == 1
    if one:
        return b.toarray().reshape(-1), lambda x: x
    return b.toarray(), lambda x: kind(x)


def spsolve(A, b, permc_spec=None, use_umfpack=True, *, rtol=None, **options):
    """
    Solves A x = b by the method that the library chooses, and returns x.

    A small matrix that is not symmetric or has 8 columns of b, or one with a narrow band, gets complete factors, which
    are applied once.
    Unlike SciPy's, `spsolve` need not compute them for others, and returns no x that is wrong: it raises
    `ConvergenceError`, whose `result` says why. For a matrix that is singular in FP64 it warns by
    `scipy.sparse.linalg.MatrixRankWarning` and returns NaN.

    Parameters
    ----------
    A : sparse array or matrix, dense array, or Matrix
    b : array of n values, or of n by k; or sparse, of n by k: then x is sparse too, of b's type. n by 1 gives n values.
    permc_spec, use_umfpack
        For SciPy's callers; not read.
    rtol : float
        ||b - A x|| <= rtol ||b||, also with rows scaled to one size. None: 1e-10, and 1e-5 where A and b are float32,
        of which x has the type. Where no FP64 number can reach that, x is taken whose row-wise backward error is proved
        to be at most 4 roundings (4.4e-16), with a residual of at most 1e-5.
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
    matrix, b, as_given = _in_real_numbers(matrix, b)
    dtype = _handed_out.direct_type_of_x(matrix, b)
    rtol = checked_tolerance("rtol", (1e-10 if dtype == np.float64 else 1e-5) if rtol is None else rtol)
    x = None if options else _by_factors(matrix, b, rtol)
    if x is not None:
        return as_scipys(as_given(x))
    if options.get("solver") not in ("lsqr", "lsmr"):  # these have the norm as given alone
        options.setdefault("stop_norm", "both")
    result = Solver(matrix, rtol=rtol, **options)._solve_typed(b, None, dtype)
    if not result.verified and not _is_exact_for_near(result):
        if result.reason in _OTHER_REASONS or not _is_singular(matrix):
            raise ConvergenceError(result)
        warnings.warn("Matrix is singular in FP64: x is NaN", _rank_warning(), stacklevel=_handed_out._outside())
        result.x = result.x * np.nan
    return as_scipys(as_given(result.x))


def _in_real_numbers(matrix, b):
    """(matrix, b, function that makes x that of the system given): the real form of a complex system."""
    if matrix.is_complex:
        return matrix.form, _complex.flattened(b), _complex.restored
    if not _complex.is_complex(b):
        return matrix, b, lambda x: x
    return matrix, _complex.parts(b), lambda x: _complex.joined(x, _complex.shape_of_x(matrix.shape[1], b))


_OTHER_REASONS = ("nan_or_inf", "time_limit", "interrupted", "iterations")  # that say nothing of singular matrices
# A matrix of so many rows and entries in a row, or of so narrow a band, has complete factors nearly for free.
_MOST_ROWS, _MOST_ENTRIES, _NARROW = 50000, 12, 4
_MANY_COLUMNS = 8  # from so many on, factors cost less than iterations also where A is symmetric


def _by_factors(matrix, b, rtol):
    """
    x by complete factors, applied once, of a small matrix that is unsymmetric or banded, or of many columns; None: not
    tried or not accepted.
    """
    n = matrix.shape[0]
    if (matrix.is_operator or matrix.context.on_gpu or n == 0 or matrix.nnz > _MOST_ENTRIES * n or
            matrix.given != np.float64 or not isinstance(b, np.ndarray) or b.dtype != np.float64 or b.size == 0):
        return None
    many = b.ndim == 2 and b.shape[1] >= _MANY_COLUMNS
    if not _is_narrow(matrix) and (n > _MOST_ROWS or not many and _seems_symmetric(matrix)):
        return None
    try:
        return Factors(matrix, _factored(matrix), rtol).solve(b)
    except TesseraError:  # none here, singular, or not good enough: the automatic solve says why
        return None


def _is_narrow(matrix):
    """Whether all entries are near the diagonal, as those of smoothing filters: factors are no larger than the band."""
    _, indices, indptr = matrix.csr()
    first = indptr[:-1][np.diff(indptr) > 0]
    if first.size < matrix.shape[0]:  # a row without entries
        return False
    rows = np.arange(matrix.shape[0])
    return max((rows - indices[first]).max(), (indices[indptr[1:] - 1] - rows).max()) <= _NARROW


def _seems_symmetric(matrix):
    """Whether A x is A^T x, for an x that is nothing's eigenvector: two products cost less than a look at all pairs."""
    context, n = matrix.context, matrix.shape[0]
    x, both = np.random.default_rng(0).uniform(0.5, 1.0, n), []
    with context.lock:
        source = _vectors.vector_of(context, x)
        for operation in (_abi.TESS_OP_NONE, _abi.TESS_OP_TRANSPOSE):
            target, fetch = _vectors.result_vector(context, n, x)
            check(lib.tess_matrix_spmv(matrix.pointer, operation, 1.0, source.pointer, 0.0, target.pointer),
                  context.pointer)
            both.append(fetch())
    return np.allclose(both[0], both[1], rtol=_SQUARE_ROOT, atol=_SQUARE_ROOT * np.abs(both[0]).max())


def _factored(matrix):
    return Preconditioner(matrix, "lu", precond_precision="fp64")


def _is_singular(matrix):
    """
    Whether A is singular for FP64: its factors fail, are those of another matrix, since a pivot that is zero was set
    aside, or have a pivot that is rounding, as the size of x tells for a b without structure.
    """
    if matrix.is_operator:
        return False
    data, indices, indptr = matrix.csr()
    n, rows = indptr.size - 1, np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    of_row, of_column = np.zeros(n), np.zeros(n)
    np.maximum.at(of_row, rows, np.abs(data))
    with np.errstate(all="ignore"):
        np.maximum.at(of_column, indices, np.abs(data) / of_row[rows])  # rows and columns are scaled to one size
    if not of_row.all() or not of_column.all():
        return True
    b = np.random.default_rng(1).uniform(0.5, 1.0, n) * of_row
    try:
        x = _factored(matrix).matvec(b)
    except TesseraError as error:
        return error.status == "singular"
    context = matrix.context
    with context.lock:
        found = verify_vectors(matrix, _vectors.vector_of(context, b), _vectors.vector_of(context, x))
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.sqrt(data.size) * float(np.linalg.norm(x * of_column)) / found.rows.rhs_norm
    return not (found.backward_error <= _SQUARE_ROOT and size <= _MOST_CONDITION)


def _rank_warning():
    """SciPy's own class of warning, where SciPy is."""
    try:
        from scipy.sparse.linalg import MatrixRankWarning
    except ImportError:
        return RuntimeWarning
    return MatrixRankWarning


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

    def __init__(self, matrix, precond, rtol, order=None):
        self._order = order  # of the rows and columns that were factored; None: as they are
        self.matrix, self.precond, self.shape, self._rtol = matrix.form, precond, matrix.shape, rtol
        self._given, self._judge = matrix, None if rtol is None else _Judge(matrix.form, rtol)
        self._transpose = self._refiner = None

    def solve(self, rhs, trans="N"):
        """
        x of A x = rhs, or with trans "T" or "H" of A^T x = rhs. rhs: n values, or n by k.

        `splu`: the factors are applied once, and x is verified. Where it misses the tolerance it is refined;
        `ConvergenceError` if that fails too. `spilu`: the factors are applied; nothing is verified.
        """
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans={trans!r} is none of: N, T, H")
        b = _arrays.host_array(rhs, "rhs", take_complex=True)
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[0]:
            raise ValueError(f"rhs is of incompatible size: {b.shape}; the matrix has {self.shape[0]} rows")
        if b.size == 0:
            return np.zeros(b.shape)
        if trans == "T" and self._given.is_complex:  # A^T x = b is the conjugate of A^H x = b
            return self.solve(b.conj(), "H").conj()
        if trans != "N":
            if self._transpose is None:
                self._transpose = self if self._given.H is self._given else self._of_transpose()
            return self._transpose.solve(b)
        _, b, as_given = _in_real_numbers(self._given, b)
        return as_given(self._solved(np.asarray(b, dtype=np.float64)))

    def _solved(self, b):
        x = self._applied(b)
        return x if self._judge is None or self._judge.accepts(b, x) else self._refined(b, x)

    def _applied(self, b):
        if self._given.is_complex:
            return _complex.flattened(self._product(_complex.restored(b)))
        return self._product(b)

    def _product(self, b):
        b = b if self._order is None else b[self._order]
        x = self.precond.matmat(b) if b.ndim == 2 else self.precond.matvec(b)
        if self._order is None:
            return x
        ordered = np.empty_like(x)
        ordered[self._order] = x
        return ordered

    def _of_transpose(self):
        made, adjoint = dict(self.precond._made_from), self._given.H
        factored = adjoint if self._order is None else _in_order(adjoint, self._order)
        return Factors(adjoint, Preconditioner(factored, made.pop("precond"), **made), self._rtol, self._order)

    def _refined(self, b, x):
        if self._refiner is None:
            self._refiner = Solver(self._given, solver="gmres", precond=self.precond, rtol=self._rtol,
                                   stop_norm="both")
        result = self._refiner._solve_real(b, x if np.isfinite(x).all() else None, None)
        if not result.verified and not _is_exact_for_near(result):
            raise ConvergenceError(result)
        return result.x

    def __repr__(self):
        return f"<tessera_sparse.Factors: {self.precond.kind}, {self.shape[0]} rows>"


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
    return Factors(matrix, _factored(matrix), checked_tolerance("rtol", rtol))


def _order_of(matrix):
    """Reverse Cuthill-McKee's order of the pattern: its rows, from the first."""
    data, indices, indptr = matrix.csr()
    pattern = Matrix((np.ones(data.size), indices, indptr, matrix.shape), context=matrix.context)
    order = np.empty(matrix.shape[0], dtype=np.int32)
    with matrix.context.lock:
        check(lib.tess_order_rcm(pattern.pointer, _arrays.address(order)), matrix.context.pointer)
    return order


def _in_order(matrix, order):
    """The matrix with its rows and columns in an order."""
    data, indices, indptr = matrix.csr()
    lengths, place_of = np.diff(indptr)[order], np.empty_like(order)
    place_of[order] = np.arange(order.size, dtype=order.dtype)
    start = np.zeros(order.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=start[1:])
    entries = np.arange(start[-1]) + np.repeat(indptr[order] - start[:-1], lengths)
    return Matrix((data[entries], place_of[indices[entries]], start, matrix.shape), context=matrix.context)


def spilu(A, drop_tol=None, fill_factor=None, drop_rule=None, permc_spec=None, diag_pivot_thresh=None, relax=None,
          panel_size=None, options=None):
    """
    Incomplete LU factors by a threshold: those of `ilut`, of rows and columns in reverse Cuthill-McKee's order.
    `spilu(A).solve(r)` applies them, for use as M.

    Parameters
    ----------
    A : sparse array or matrix, dense array, or Matrix; square
    drop_tol, fill_factor : float, optional
        Relative threshold (1e-4), most entries of a row over the matrix's (10).
    permc_spec : str, optional
        "NATURAL": the order that A has.
    drop_rule, diag_pivot_thresh, relax, panel_size, options
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
    matrix, kind = _square(A), f"ilut:{float(drop):g}:{float(fill):g}"
    if permc_spec == "NATURAL":
        return Factors(matrix, Preconditioner(matrix, kind), None)
    order = _order_of(matrix)
    return Factors(matrix, Preconditioner(_in_order(matrix, order), kind), None, order)


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
