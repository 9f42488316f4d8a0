# SPDX-License-Identifier: Apache-2.0
"""
The x that is handed out: its type, and its own residual. The computation is in FP64; an x that is rounded to another
type on its way out, or another iterate than the library's, is verified again, and `Result` tells about that one.
"""
import math
import sys
import warnings

import numpy as np

from . import _abi, _arrays, _vectors
from ._verify import verify_vectors

_SMALL = np.dtype(np.float32)
SLACK = 100.0  # TESS_ROWS_SLACK: so many times the tolerance of scaled rows, where the norm as given decides


def type_of_x(matrix, b):
    """The NumPy type of x, that of SciPy's iterative solvers: float32 if A and b both are, else float64."""
    return _arrays.real_dtype(matrix.dtype, _arrays.dtype_of(b))


def direct_type_of_x(matrix, b):
    """That of SciPy's spsolve: float32 too where NumPy promotes both types to it, such as float16 and bool."""
    given = _arrays.dtype_of(b)
    kinds = [_SMALL, matrix.given, np.dtype(np.float64) if given is None else given]
    return _SMALL if np.result_type(*kinds) == _SMALL else np.dtype(np.float64)


def is_rounded(dtype, b):
    """Whether x loses digits on its way out; JAX has float32 alone unless it is told otherwise."""
    return dtype != np.float64 or _arrays.owner_of(b) == "jax" and not sys.modules["jax"].config.jax_enable_x64


def rounded(x, dtype):
    """A NumPy x in a type; what is out of range becomes infinite, and the residual tells."""
    with np.errstate(over="ignore"):
        return x.astype(dtype, copy=False)


def is_exact(matrix, x, lost):
    """Whether x, A and b are those of the solve to the last bit."""
    return lost is None and matrix.loss == 0.0 and _arrays.dtype_of(x) == np.float64


def meets_given(result):
    """Whether the norm as given is proved to meet its tolerance."""
    most = result.residual_norm + result.residual_bound
    return math.isfinite(most) and most <= result.tolerance


def _meets_rows(raw, slack=1.0):
    """Likewise the norm of scaled rows; nobody knows the rows of an operator."""
    rows = raw.rows
    if math.isnan(rows.tolerance):
        return True
    most = rows.norm + rows.bound
    return math.isfinite(most) and most <= slack * rows.tolerance


def _meets(result, given):
    """Whether the norm that `stop_norm` names meets its tolerance, if `given` says so of the norm as given."""
    raw = result._raw
    if raw.stop_norm == _abi.TESS_STOP_NORM_ROWS and not math.isnan(raw.rows.tolerance):
        return _meets_rows(raw)
    return given and (raw.stop_norm != _abi.TESS_STOP_NORM_BOTH or _meets_rows(raw))


def judge(matrix, result, x, b, lost=None):
    """
    Makes `result` that of x. `b` is the right-hand side in FP64. `lost` and `matrix.loss` are what b and A lost when
    they were converted to FP64: the bounds have them too. The preconditioned norm of another x than the library's is
    not known: the norm as given stands for it.
    """
    raw = result._raw
    _measure(matrix, raw, x, b, lost)
    trusted = matrix.is_operator and not matrix.has_bound
    most = raw.residual_norm + (0.0 if trusted else raw.residual_bound)
    given = math.isfinite(most) and most <= raw.tolerance
    met = _meets(result, given)
    if matrix.shape[0] != matrix.shape[1] and not met:
        result.converged = raw.reason == _abi.TESS_REASON_LEAST_SQUARES and _solves_least_squares(matrix, result, b, x)
        result.verified = False
    else:
        slack = SLACK if raw.stop_norm == _abi.TESS_STOP_NORM_GIVEN else 1.0
        result.converged, result.verified = met, met and given and not trusted and _meets_rows(raw, slack)
    raw.converged, raw.verified = int(result.converged), int(result.verified)


def _measure(matrix, raw, x, b, lost):
    """The norms of b - A x and their bounds."""
    context = matrix.context
    with context.lock:
        found = verify_vectors(matrix, _vectors.vector_of(context, b), _vectors.vector_of(context, x))
    raw.residual_norm, raw.residual_bound = found.residual_norm, found.residual_bound
    raw.relative_residual = raw.residual_norm / (raw.rhs_norm or 1.0)
    for name in ("norm", "bound", "backward_error", "backward_bound", "backward_row"):
        setattr(raw.rows, name, getattr(found.rows, name))
    raw.rows.relative = raw.rows.norm / (raw.rows.rhs_norm or 1.0)
    if lost is not None or matrix.loss:
        with np.errstate(all="ignore"):
            size = float(np.linalg.norm(_arrays.to_host(x).astype(np.float64).reshape(-1)))
            raw.residual_bound += _arrays.norm_of_lost(lost) + matrix.loss * size
            if not matrix.is_operator:
                raw.rows.bound += _lost_by_rows(matrix, lost, size)
    raw.rows.met = int(not math.isnan(raw.rows.tolerance) and _meets_rows(raw))


def _lost_by_rows(matrix, lost, size):
    """What conversion lost of scaled rows, for an x of a size."""
    largest = np.zeros(matrix.shape[0], np.longdouble)
    data, _, indptr = matrix.csr()
    np.maximum.at(largest, np.repeat(np.arange(matrix.shape[0]), np.diff(indptr)), np.abs(data))
    largest[largest == 0.0] = 1.0
    of_a = np.full(largest.size, matrix.loss) if matrix.row_losses is None else matrix.row_losses
    of_b = np.zeros(largest.size) if lost is None else lost.reshape(-1)
    return _arrays.norm_of_lost(of_b / largest) + _arrays.norm_of_lost(of_a / largest) * size


def _solves_least_squares(matrix, result, b, x):
    """Whether x meets the test of the normal equations; without a bound."""
    residual = b - matrix.matvec(x)
    normal = float(np.linalg.norm(_arrays.to_host(matrix.T.matvec(residual))))
    result._raw.normal_residual_norm = normal
    return normal <= result.rtol * result._raw.matrix_norm * float(np.linalg.norm(_arrays.to_host(residual)))


def judge_rounded(matrix, result, x, b, lost):
    """As `judge`, for an x as it leaves; says so where rounding, or the conversion of A and b, lost the tolerance."""
    if is_exact(matrix, x, lost):
        return
    before = result.converged or _meets(result, meets_given(result))
    judge(matrix, result, x, b, lost)
    if result.converged and result._raw.reason <= 0:
        result._raw.reason = _abi.TESS_REASON_RTOL
    if not before or result.converged:
        return
    result._raw.reason = _abi.TESS_REASON_FALSE_CONVERGENCE
    norm, bound, tolerance, scale, where = _missed(result)
    if _arrays.dtype_of(x) == np.float64:
        text = (f"A or b is not exact in float64: the relative residual{where} is known to "
                f"{(norm + bound) / scale:.1e} only")
    else:
        text = f"x in {_arrays.dtype_of(x)} holds a relative residual{where} of {norm / scale:.1e} only"
    result._said = text
    warnings.warn(f"{text}, wanted is {tolerance / scale:.1e}: pass A and b in float64, or raise the tolerance",
                  RuntimeWarning, stacklevel=_outside())


def _missed(result):
    """(norm, bound, tolerance, that of b, words) of the norm that misses its tolerance."""
    raw, rows = result._raw, result._raw.rows
    if meets_given(result) or raw.stop_norm == _abi.TESS_STOP_NORM_ROWS and not math.isnan(rows.tolerance):
        return rows.norm, rows.bound, rows.tolerance, rows.rhs_norm or 1.0, " with rows scaled to one size"
    return raw.residual_norm, raw.residual_bound, raw.tolerance, raw.rhs_norm or 1.0, ""


def warn_of_rows(matrix, result, options):
    """A named method has met the norm as given, which large rows rule, and the other rows are far from solved."""
    least_squares = options.solver in (_abi.TESS_SOLVER_LSQR, _abi.TESS_SOLVER_LSMR)
    if options.stop_norm != _abi.TESS_STOP_NORM_AUTO or least_squares and matrix.shape[0] != matrix.shape[1]:
        return  # asked for, or weights of rows
    hint = "scale the rows of A and b" if least_squares else 'pass stop_norm="both"'
    for column in result.columns:
        raw = column._raw
        if meets_given(column) and raw.stop_norm == _abi.TESS_STOP_NORM_GIVEN and not _meets_rows(raw, SLACK):
            scale = raw.rows.rhs_norm or 1.0
            warnings.warn(f"not verified: with rows scaled to one size the relative residual is "
                          f"{raw.rows.norm / scale:.1e}, wanted is {raw.rows.tolerance / scale:.1e}: rows far smaller "
                          f"than others may be unsolved; {hint}", RuntimeWarning, stacklevel=_outside())
            return


def _outside():
    """The stack level of the first caller outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        level, frame = level + 1, frame.f_back
    return level
