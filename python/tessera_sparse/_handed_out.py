# SPDX-License-Identifier: Apache-2.0
"""
The x that is handed out: its type, and its own residual. The computation is in FP64; an x that is rounded to another
type on its way out, or another iterate than the library's, is verified again, and `Result` tells about that one.
"""
import math
import sys
import warnings

import numpy as np

from . import _abi, _arrays

_SMALL = np.dtype(np.float32)


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


def is_exact(matrix, x, loss):
    """Whether x, A and b are those of the solve to the last bit."""
    return loss == 0.0 and matrix.loss == 0.0 and _arrays.dtype_of(x) == np.float64


def judge(matrix, result, x, b, loss=0.0):
    """
    Makes `result` that of x. `b` is the right-hand side in FP64. `loss` and `matrix.loss` are what b and A lost when
    they were converted to FP64: the bound has them too.
    """
    raw = result._raw
    norm, bound = matrix.residual(b, x)
    if loss or matrix.loss:
        with np.errstate(all="ignore"):
            bound += loss + matrix.loss * float(np.linalg.norm(_arrays.to_host(x).astype(np.float64).reshape(-1)))
    raw.residual_norm, raw.residual_bound = norm, bound
    raw.relative_residual = norm / raw.rhs_norm if raw.rhs_norm > 0.0 else norm
    trusted = matrix.is_operator and not matrix.has_bound
    most = norm + (0.0 if trusted else bound)
    met = math.isfinite(most) and most <= raw.tolerance
    if matrix.shape[0] != matrix.shape[1] and not met:
        result.converged = raw.reason == _abi.TESS_REASON_LEAST_SQUARES and _solves_least_squares(matrix, result, b, x)
        result.verified = False
    else:
        result.converged, result.verified = met, met and not trusted
    raw.converged, raw.verified = int(result.converged), int(result.verified)


def _solves_least_squares(matrix, result, b, x):
    """Whether x meets the test of the normal equations; without a bound."""
    residual = b - matrix.matvec(x)
    normal = float(np.linalg.norm(_arrays.to_host(matrix.T.matvec(residual))))
    result._raw.normal_residual_norm = normal
    return normal <= result.rtol * result._raw.matrix_norm * float(np.linalg.norm(_arrays.to_host(residual)))


def judge_rounded(matrix, result, x, b, loss):
    """As `judge`, for an x as it leaves; says so where rounding, or the conversion of A and b, lost the tolerance."""
    if is_exact(matrix, x, loss):
        return
    before = result.converged or result.residual_norm + result.residual_bound <= result.tolerance
    judge(matrix, result, x, b, loss)
    if result.converged and result._raw.reason <= 0:
        result._raw.reason = _abi.TESS_REASON_RTOL
    if not before or result.converged:
        return
    result._raw.reason = _abi.TESS_REASON_FALSE_CONVERGENCE
    if _arrays.dtype_of(x) == np.float64:
        text = (f"A or b is not exact in float64: the relative residual is known to "
                f"{(result.residual_norm + result.residual_bound) / (result.rhs_norm or 1.0):.1e} only")
        hint = "pass A and b in float64, or raise the tolerance"
    else:
        text = f"x in {_arrays.dtype_of(x)} holds a relative residual of {result.relative_residual:.1e} only"
        hint = "pass A and b in float64, or raise the tolerance"
    result._said = text
    wanted = result.tolerance / (result.rhs_norm or 1.0)
    warnings.warn(f"{text}, wanted is {wanted:.1e}: {hint}", RuntimeWarning, stacklevel=_outside())


def _outside():
    """The stack level of the first caller outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        level, frame = level + 1, frame.f_back
    return level
