# SPDX-License-Identifier: Apache-2.0
"""SciPy's interface: functions with the signatures and return values of scipy.sparse.linalg (1.12 and later)."""
import math
import warnings

import numpy as np

from . import _arrays, _complex, _handed_out
from ._errors import ConvergenceError
from ._matrix import Matrix, context_for, as_matrix
from ._operators import product_of
from ._precond import matrix_beside
from ._solver import Solver

_LARGEST = float(np.finfo(np.float64).max)


def checked_tolerance(name, value):
    if type(value) is float and value >= 0.0:
        return value
    if isinstance(value, str) or value is None or not np.isscalar(value) or not value >= 0:
        raise ValueError(f"{name}={value!r} is no number from 0")
    return float(value)


def _system(A, b, M):
    """(matrix, b, M), with errors for what does not fit."""
    if M is None and hasattr(A, "psolve") and not isinstance(A, Matrix):
        M = A.psolve
    matrix = A if isinstance(A, Matrix) else matrix_beside(A, context_for(None, (b,)) if _arrays.on_device(b) else None,
                                                           M)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"expected a square matrix, not {matrix.shape[0]} by {matrix.shape[1]}")
    b = _arrays.imported(b, matrix.context)
    if not _arrays.on_device(b):
        if hasattr(b, "toarray"):
            b = b.toarray()
        if _arrays.owner_of(b) == "numpy":
            b = _arrays.host_array(b, "b", take_complex=True)
    if len(b.shape) not in (1, 2) or b.shape[0] != matrix.shape[0]:
        raise ValueError(f"b has the shape {tuple(b.shape)}; the matrix has {matrix.shape[0]} rows")
    return matrix, b, M


def _start(x0, b, M):
    """The initial guess; 'Mb' is that of SciPy: the preconditioner applied to b."""
    if isinstance(x0, str):
        if x0 != "Mb":
            raise ValueError(f"x0={x0!r} is no array and not 'Mb'")
        return np.array(b) if M is None else np.asarray(product_of(M, "M")(b)).reshape(b.shape)
    if x0 is None:
        return None
    if _arrays.owner_of(x0) == "numpy" and not _arrays.on_device(x0):
        x0 = _arrays.host_array(x0, "x0", take_complex=True)
    if len(b.shape) == 2 and len(getattr(x0, "shape", b.shape)) == 1:
        x0 = x0.reshape(-1, 1)
    return x0


def _limits(rtol, atol):
    rtol, atol = checked_tolerance("rtol", rtol), checked_tolerance("atol", atol)
    if not math.isfinite(rtol) or not math.isfinite(atol):
        return {"rtol": 0.0, "atol": _LARGEST}
    return {"rtol": rtol, "atol": atol}


_AT_LIMIT = 2  # SciPy: the last iterate where the limit of iterations ends the solve; after a breakdown the best
_AT_THE_LIMIT = ("iterations", "false_convergence")


def _info(matrix, result, limit):
    """
    0: the norm as given is proved to meet its tolerance, or converged for an operator without a bound. Over 0: limit
    of iterations, or the type of x holds no better one. Below 0: the reason's number.
    """
    trusted, worst = matrix.is_operator and not matrix.has_bound, 0
    for column in result.columns:
        if column.verified or column.converged and (trusted or _handed_out.meets_given(column)):
            continue
        reason = column._raw.reason
        info = reason if reason < 0 and column.reason not in _AT_THE_LIMIT else max(limit, 1)
        worst = info if worst == 0 or info < 0 else worst
    return worst


def _run(method, A, b, x0, M, rtol, atol, limit, options, per_iteration=None, reported=None, dtype=None):
    """Sets up, solves, and returns (x, info) as SciPy does."""
    matrix, b, M = _system(A, b, M)
    if limit is not None and (limit != int(limit) or limit < 0):
        raise ValueError(f"maxiter={limit!r} is no whole number from 0")
    settings = dict(options, **_limits(rtol, atol), max_iterations=int(limit), history_capacity=0,
                    return_last=_AT_LIMIT)
    if per_iteration is not None and _complex.is_complex(b):
        matrix = matrix.complexified()  # the callback sees one system
    solver = Solver(matrix, solver=method, precond=M if M is not None else "none", **settings)
    if per_iteration is not None:
        solver.set_limits(monitor=per_iteration(solver, b))
    result = solver._solve_typed(b, _start(x0, b, M), dtype)
    return _finished(result.x, result, _info(matrix, result, reported if reported is not None else int(limit)))


def _finished(x, result, info):
    """(x, info) as SciPy returns them: x of n values for b of n by 1. Code that asks for `info > 0` sees a warning."""
    if info < 0:
        worst = next(c for c in result.columns if c._raw.reason == info)
        warnings.warn(f"not solved (info {info}): {worst.reason_text}; x is the best iterate, with a relative residual "
                      f"of {worst.relative_residual:.1e}", RuntimeWarning, stacklevel=_handed_out._outside())
    return x.reshape(-1) if len(x.shape) == 2 and x.shape[1] == 1 else x, info


def _iterates(callback):
    """A monitor that hands the current x to SciPy's callback."""
    if callback is None:
        return None

    def per_iteration(solver, _b):
        return _each_once(lambda _seen: callback(solver.iterate()))
    return per_iteration


def _each_once(tell):
    """A monitor that tells of each iteration from 1 on once: a cycle begins with the residual that ended the last."""
    last = 0

    def monitor(seen):
        nonlocal last
        if seen.iteration > last:
            last = seen.iteration
            tell(seen)
    return monitor


def _limit(maxiter, matrix_like, factor):
    if maxiter is not None:
        return maxiter
    return factor * max(_rows(matrix_like), 1)


def _rows(matrix_like):
    """Rows of what may be a matrix; 0 for what is none, which is refused later."""
    if isinstance(matrix_like, tuple) and len(matrix_like) in (3, 4):  # CSR arrays
        return matrix_like[3][0] if len(matrix_like) == 4 else np.shape(matrix_like[2])[0] - 1
    shape = matrix_like.shape if hasattr(matrix_like, "shape") else np.shape(matrix_like)
    return shape[0] if shape else 0


_DOC = """
    {text}

    Parameters and return values are those of `scipy.sparse.linalg.{name}`. Differences:

    - `info` is 0 only if the true residual b - A x, with a bound on its rounding, meets the tolerance. For a
      LinearOperator without `error_bound` it is the residual as the operator computes it.
      Where large rows hide small ones that are far from solved, a RuntimeWarning says so.
    - `info` above 0: the limit of iterations, or x in float32 misses the tolerance. Below 0: the number of the reason
      (docs/reference/verification.md), such as -10 for a matrix that is not positive definite.
    - A may also be a `Matrix`, and M a preconditioner such as `ilu0(A)`; b may have several columns, which share one
      set-up, and x has the shape of b.
    - A RuntimeWarning gives the reason where `info` is below 0.
    - The computation is in FP64; the type of x is SciPy's. Complex systems too: x is then complex64 or complex128.

    Parameters
    ----------
    A : sparse array or matrix, dense array, LinearOperator, or Matrix
    b : array of n values, or of n by k
    x0 : array, optional
    rtol, atol : float
        Stop at ||b - A x|| <= max(rtol ||b||, atol).
    {extra}
    M : preconditioner, LinearOperator, matrix or function, optional
        An approximation of the inverse of A.
    callback : function, optional
        {callback}

    Returns
    -------
    x : array
    info : int

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix.gallery("{problem}").to_scipy()
    >>> x, info = ts.{name}(A, np.ones(A.shape[0]), rtol=1e-8{example})
    >>> info, bool(np.linalg.norm(1 - A @ x) <= 1e-8 * np.sqrt(A.shape[0]))
    (0, True)
    """
_XK = "Called with the current x after each iteration. It costs a copy of x; give `Solver(monitor=...)` for norms."


def _documented(text, problem='laplace2d", "20', extra="maxiter : int, optional\n        Limit of iterations (10 n).",
                callback=_XK, example=""):
    def decorate(function):
        function.__doc__ = _DOC.format(text=text, name=function.__name__, problem=problem, extra=extra,
                                       callback=callback, example=example)
        return function
    return decorate


@_documented("Conjugate gradients, for symmetric positive definite matrices.")
def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    return _run("cg", A, b, x0, M, rtol, atol, _limit(maxiter, A, 10), {}, _iterates(callback))


@_documented("Stabilised bi-conjugate gradients, for any matrix.")
def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    return _run("bicgstab", A, b, x0, M, rtol, atol, _limit(maxiter, A, 10), {}, _iterates(callback))


@_documented("MINRES, for symmetric matrices that need not be definite.",
             extra="shift : float\n        Solves (A - shift I) x = b.\n    maxiter : int, optional\n        Limit of "
             "iterations (5 n).\n    show, check : bool\n        show prints the result; the symmetry is always "
             "checked.")
def minres(A, b, x0=None, *, rtol=1e-5, shift=0.0, maxiter=None, M=None, callback=None, show=False, check=False):
    if shift != 0.0:
        A = _shifted(A, shift)
    if check:
        A = as_matrix(A)
        if not A.is_operator and A.analyze()["numerically_symmetric"] != 1:
            raise ValueError("non-symmetric matrix")
    x, info = _run("minres", A, b, x0, M, rtol, 0.0, _limit(maxiter, A, 5), {}, _iterates(callback),
                   dtype=np.float64)
    if show:
        print(f"minres: info = {info}")
    return x, info


def _shifted(A, shift):
    from scipy.sparse import csr_array, eye_array
    A = A.to_scipy() if isinstance(A, Matrix) else A
    if hasattr(A, "matvec"):
        from scipy.sparse.linalg import LinearOperator
        return LinearOperator(A.shape, lambda x: A.matvec(x) - shift * x, dtype=A.dtype)
    return csr_array(A) - shift * eye_array(np.shape(A)[0])


def _norms(callback):
    def per_iteration(_solver, b):
        scale = float(np.linalg.norm(np.asarray(b).astype(np.result_type(b.dtype, np.float64)))) or 1.0

        return _each_once(lambda seen: callback(np.float64(seen.residual_norm / scale)))
    return per_iteration


@_documented("Restarted GMRES, preconditioned from the right.",
             extra="restart : int, optional\n        Vectors of a cycle (min(20, n)).\n    maxiter : int, optional\n"
             "        Limit of cycles (10 n); with callback_type 'legacy' of iterations.",
             callback="Called with the relative residual norm of each iteration (callback_type 'pr_norm', 'legacy') or "
             "with x after\n        each cycle ('x').\n    callback_type : {'x', 'pr_norm', 'legacy'}, optional",
             example=", restart=50")
def gmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None, callback=None,
          callback_type=None):
    return _gmres("gmres", A, b, x0, rtol, atol, restart, maxiter, M, callback, callback_type)


@_documented("Flexible GMRES: the preconditioner may vary from one iteration to the next.",
             extra="restart : int, optional\n        Vectors of a cycle (min(20, n)).\n    maxiter : int, optional\n"
             "        Limit of cycles (10 n).",
             callback="As that of `gmres`.\n    callback_type : {'x', 'pr_norm', 'legacy'}, optional",
             example=", restart=50")
def fgmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None, callback=None,
           callback_type=None):
    return _gmres("fgmres", A, b, x0, rtol, atol, restart, maxiter, M, callback, callback_type)


fgmres.__doc__ = fgmres.__doc__.replace("scipy.sparse.linalg.fgmres", "scipy.sparse.linalg.gmres")


def _gmres(method, A, b, x0, rtol, atol, restart, maxiter, M, callback, callback_type):
    if callback is not None and callback_type is None:
        warnings.warn("scipy.sparse.linalg.gmres called without specifying `callback_type`. The default value will be "
                      "changed in a future release. For compatibility, specify a value for `callback_type` explicitly, "
                      "e.g., ``gmres(..., callback_type='pr_norm')``, or to retain the old behavior "
                      "``gmres(..., callback_type='legacy')``", category=DeprecationWarning, stacklevel=3)
    kind = callback_type or "legacy"
    if kind not in ("x", "pr_norm", "legacy"):
        raise ValueError(f"Unknown callback_type: {kind!r}")
    size = _rows(A)
    restart = max(min(20 if restart is None else int(restart), size), 1)
    cycles = 10 * size if maxiter is None else maxiter
    options = {"gmres_restart": restart}
    if callback is None or kind == "pr_norm":
        return _run(method, A, b, x0, M, rtol, atol, cycles * restart, options,
                    None if callback is None else _norms(callback), cycles)
    if kind == "legacy":
        return _run(method, A, b, x0, M, rtol, atol, cycles, options, _norms(callback), cycles)
    return _gmres_by_cycles(method, A, b, x0, rtol, atol, options, cycles, M, callback)


def _gmres_by_cycles(method, A, b, x0, rtol, atol, options, cycles, M, callback):
    """Cycle by cycle, so that the callback sees x after each: GMRES keeps nothing else between cycles."""
    matrix, b, M = _system(A, b, M)
    if _complex.is_complex(b):
        matrix = matrix.complexified()
    solver = Solver(matrix, solver=method, precond=M if M is not None else "none", history_capacity=0,
                    max_iterations=options["gmres_restart"] if cycles else 0, return_last=_AT_LIMIT, **options,
                    **_limits(rtol, atol))
    x, info = _start(x0, b, M), cycles
    for _ in range(max(cycles, 1)):
        result = solver.solve(b, x)
        x, info = result.x, _info(matrix, result, cycles)
        if result.iterations:
            callback(np.array(x))
        if info != cycles or result.reason == "false_convergence":
            break
    return _finished(x, result, info)


def idrs(A, b, x0=None, *, s=4, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    """
    IDR(s), for any matrix: short recurrences, so that its memory does not grow with the iterations.

    Parameters are those of `bicgstab`, and `s`: the dimension of the shadow space, 1 to 64.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> x, info = ts.idrs(ts.Matrix.gallery("laplace2d", 20), np.ones(400), s=8, rtol=1e-8)
    >>> info
    0
    """
    return _run("idr", A, b, x0, M, rtol, atol, _limit(maxiter, A, 10), {"idr_s": s}, _iterates(callback))


def _renamed(name, of, text):
    """A function under another of SciPy's names, which runs what we have."""
    def function(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
        return of(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback)
    function.__name__ = function.__qualname__ = name
    return _documented(text)(function)


_SHORT = "{} for code that calls it by this name: `bicgstab` runs, whose iterates are others. M is applied as it is."
bicg = _renamed("bicg", bicgstab, _SHORT.format("BiCG,") + " No product with A^T is needed.")
cgs = _renamed("cgs", bicgstab, _SHORT.format("CGS,"))


@_documented(_SHORT.format("TFQMR,"),
             extra="maxiter : int, optional\n        Limit of iterations (10 n).\n    show : bool\n"
             "        Prints `info`.")
def tfqmr(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, show=False):
    x, info = bicgstab(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback)
    if show:
        print(f"tfqmr: info = {info}")
    return x, info


@_documented("QMR, for code that calls it by this name: `bicgstab` runs, whose iterates are others.",
             extra="maxiter : int, optional\n        Limit of iterations (10 n).\n    M1, M2 : preconditioners, "
             "optional\n        As SciPy has them: M is M2 applied to M1's result. Not both `M` and these.")
def qmr(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M1=None, M2=None, callback=None, M=None):
    if M is not None and (M1 is not None or M2 is not None):
        raise TypeError("give M, or M1 and M2")
    if M1 is not None and M2 is not None:
        first, second = product_of(M1, "M1"), product_of(M2, "M2")

        def M(r):
            return second(first(r))
    elif M is None:
        M = M1 if M1 is not None else M2
    return bicgstab(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback)


def _by_fgmres(A, b, x0, rtol, atol, maxiter, M, callback, restart):
    size = max(min(int(restart), _rows(A)), 1)
    return _gmres("fgmres", A, b, x0, rtol, atol, size, maxiter, M, callback, "x")


@_documented("LGMRES, for code that calls it by this name: `fgmres` runs, with cycles of inner_m + outer_k vectors.",
             extra="maxiter : int\n        Limit of cycles.\n    inner_m, outer_k : int\n        Their sum is the "
             "length of a cycle.\n    outer_v, store_outer_Av, prepend_outer_v\n        Not read: no vectors are "
             "kept from one cycle to the next.", callback="Called with x after each cycle.")
def lgmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=1000, M=None, callback=None, inner_m=30, outer_k=3,
           outer_v=None, store_outer_Av=True, prepend_outer_v=False):
    return _by_fgmres(A, b, x0, rtol, atol, maxiter, M, callback, inner_m + outer_k)


@_documented("GCROT(m, k), for code that calls it by this name: `fgmres` runs, with cycles of m + k vectors.",
             extra="maxiter : int\n        Limit of cycles.\n    m, k : int\n        m + k is the length of a cycle; "
             "k None: m.\n    CU, discard_C, truncate\n        Not read: no vectors are kept from one cycle to the "
             "next.", callback="Called with x after each cycle.")
def gcrotmk(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=1000, M=None, callback=None, m=20, k=None, CU=None,
            discard_C=False, truncate="oldest"):
    return _by_fgmres(A, b, x0, rtol, atol, maxiter, M, callback, m + (m if k is None else k))
