# SPDX-License-Identifier: Apache-2.0
"""SciPy's interface of least squares: lsqr and lsmr."""
import numpy as np

from . import _arrays, _complex, _handed_out
from ._errors import counted
from ._linear_operator import DampedOperator
from ._matrix import Matrix, as_matrix
from ._scipy import checked_tolerance
from ._solver import Solver


def _damped(matrix, damp):
    """[A; damp I], for [A; damp I] x = [b; 0]."""
    if matrix.is_operator:
        return Matrix(DampedOperator(matrix, damp), context=matrix.context)
    from scipy.sparse import csr_array, eye_array, vstack
    damped = Matrix(csr_array(vstack([matrix.to_scipy(), damp * eye_array(matrix.shape[1])])), context=matrix.context)
    damped.loss = matrix.loss
    if matrix.row_losses is not None:
        damped.row_losses = np.append(matrix.row_losses, np.zeros(matrix.shape[1]))
    return damped


def _least_squares(method, A, b, x0, tolerance, limit, damp):
    matrix = as_matrix(A)
    b = _arrays.host_array(b, "b", take_complex=True)
    if matrix.is_complex or _complex.is_complex(b) or _complex.is_complex(x0):
        form, size = matrix.complexified().form, matrix.shape[1]
        start = None if x0 is None else _complex.flattened(x0).reshape(-1)
        result, x, *rest = _least_squares(method, form, _complex.flattened(b.reshape(-1)), start, tolerance,
                                          2 * size if limit is None else limit, damp)
        return result, _complex.restored(x), *rest
    b = b.reshape(-1) if b.ndim == 0 or b.ndim == 2 and b.shape[1] == 1 else b
    nrows, ncols = matrix.shape
    if b.shape != (nrows,):
        raise ValueError(f"b has the shape {b.shape}; the matrix has {counted(nrows, 'row')}")
    right = np.asarray(b, dtype=np.float64)
    solved = matrix
    start = None if x0 is None else np.array(_arrays.host_array(x0, "x0"), dtype=np.float64).reshape(-1)
    if damp != 0.0:  # ||A x - b||^2 + damp^2 ||x - x0||^2
        if start is not None and start.shape != (ncols,):
            raise ValueError(f"x0 has {counted(start.size, 'value')}; the matrix has {counted(ncols, 'column')}")
        solved = _damped(matrix, damp)
        right = np.concatenate([right, np.zeros(ncols) if start is None else damp * start])
    settings = {} if limit is None else {"max_iterations": int(limit)}
    solver = Solver(solved, solver=method, rtol=tolerance, precond="none", last_iterate=True, **settings)
    result = solver._solve_typed(right, start, np.dtype(np.float64))
    if b.dtype != np.float64 or matrix.loss:
        _handed_out.judge_rounded(solved, result, result.x, right, _arrays.lost_in_double(b))
    x = result.x
    stop = 0 if not np.any(right) else {"rtol": 1, "atol": 1, "least_squares": 2, "happy_breakdown": 1}.get(
        result.reason, 7)
    residual = np.asarray(b, dtype=np.float64) - matrix @ x if nrows else np.zeros(0)
    # Nobody bounds an operator's A^T r. Rows may have weights: the norm as given decides.
    proved = result.converged if matrix.is_operator else result.verified or _handed_out.meets_given(result)
    return result, x, stop if proved else 7, float(np.linalg.norm(residual)), matrix

def _smallest(*tolerances):
    """Both of SciPy's tests use tolerances of their own; ours has one, and takes the tighter."""
    for tolerance in tolerances:
        checked_tolerance("tolerance", tolerance)
    positive = [float(tolerance) for tolerance in tolerances if tolerance > 0]
    return min(positive) if positive else 4 * np.finfo(np.float64).eps


def lsqr(A, b, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, iter_lim=None, show=False, calc_var=False, x0=None):
    """
    Least squares by LSQR: min ||b - A x||^2 + damp^2 ||x - x0||^2, for A of any shape.

    Parameters and return values are those of `scipy.sparse.linalg.lsqr`: (x, istop, itn, r1norm, r2norm, anorm, acond,
    arnorm, xnorm, var). `istop` is 0 (b = 0), 1 (A x = b to the tolerance), 2 (x solves the normal equations to the
    tolerance), both proved, or 7 (not). The tolerance is the smaller of atol and btol. `conlim` and `calc_var` are
    not read: acond is NaN, and var zeros. A LinearOperator needs rmatvec. Its residuals are those that it computes:
    1 is verified if it has `error_bound`, and 2 never is; anorm is an estimate.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> x, istop = ts.lsqr(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0, -1.0]))[:2]
    >>> x.round(6), istop
    (array([ 1., -1.]), 1)
    """
    result, x, stop, norm, _ = _least_squares("lsqr", A, b, x0, _smallest(atol, btol), iter_lim, damp)
    if show:
        print(result)
    return (x, stop, result.iterations, norm, result.residual_norm, result.matrix_norm, float("nan"),
            result.normal_residual_norm, float(np.linalg.norm(x)), np.zeros(x.size))


def lsmr(A, b, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, maxiter=None, show=False, x0=None):
    """
    Least squares by LSMR: as `lsqr`; ||A^T r|| falls in each iteration.

    Parameters and return values are those of `scipy.sparse.linalg.lsmr`: (x, istop, itn, normr, normar, norma, conda,
    normx), with `istop` as in `lsqr`; conda is NaN.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> x, istop = ts.lsmr(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0, 0.0]))[:2]
    >>> x.round(6), istop
    (array([ 0.666667, -0.333333]), 2)
    """
    result, x, stop, norm, _ = _least_squares("lsmr", A, b, x0, _smallest(atol, btol), maxiter, damp)
    if show:
        print(result)
    return (x, stop, result.iterations, norm, result.normal_residual_norm, result.matrix_norm, float("nan"),
            float(np.linalg.norm(x)))
