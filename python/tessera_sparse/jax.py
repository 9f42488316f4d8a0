# SPDX-License-Identifier: Apache-2.0
"""
Solves with gradients for JAX, also under jit, grad and vmap.

    import tessera_sparse as ts
    x = ts.jax.solve(A, b)           A: jax.experimental.sparse.BCSR, or (data, indices, indptr)

The library is called on the host (jax.pure_callback): arrays of a GPU are copied there and back.
"""
import collections
import functools
import hashlib
import threading

import jax
import jax.numpy as jnp
import numpy as np

from ._containers import csr_parts, jax_kind, jax_triplets, kept_entries, require_plain, sorted_csr
from ._errors import ConvergenceError
from ._matrix import as_matrix
from ._solver import Solver

_recent, _lock = collections.OrderedDict(), threading.Lock()
_KEPT = 8


def _solver(data, indices, indptr, options):
    """The set-up for a matrix: the same one in forward and backward passes, and for the same matrix later."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (data, indices, indptr):
        digest.update(np.ascontiguousarray(part))
    key = digest.digest(), str(data.dtype), options
    with _lock:
        if key not in _recent:
            n = indptr.size - 1
            parts = kept_entries(*(np.array(part) for part in (data, indices, indptr)), (n, n))
            _recent[key] = Solver(as_matrix(parts), **dict(options))
        _recent.move_to_end(key)
        while len(_recent) > _KEPT:
            _recent.popitem(last=False)
        return _recent[key]


def _on_host(transposed, options, data, indices, indptr, b):
    data, indices, indptr, b = (np.asarray(part) for part in (data, indices, indptr, b))
    solver = _solver(data, indices, indptr, options)
    result = (solver.transposed() if transposed else solver)._solve_typed(b, None, b.dtype)
    if not result.verified:
        raise ConvergenceError(result)
    return np.asarray(result.x)


def _call(transposed, options, data, indices, indptr, b):
    kind = jax.ShapeDtypeStruct(b.shape, b.dtype)
    return jax.pure_callback(functools.partial(_on_host, transposed, options), kind, data, indices, indptr, b,
                             vmap_method="sequential")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _solve(options, data, indices, indptr, b):
    return _call(False, options, data, indices, indptr, b)


def _forward(options, data, indices, indptr, b):
    x = _solve(options, data, indices, indptr, b)
    return x, (data, indices, indptr, x)


def _backward(options, kept, g):
    """With the gradient g of x: that of b is y = A^-T g, that of a value a_ij is -y_i x_j."""
    data, indices, indptr, x = kept
    y = _call(True, options, data, indices, indptr, g)
    rows = jnp.repeat(jnp.arange(indptr.shape[0] - 1), jnp.diff(indptr), total_repeat_length=data.shape[0])
    products = y[rows] * x[indices]
    products = products.sum(axis=1) if products.ndim == 2 else products
    is_entry = (jnp.arange(data.shape[0]) < indptr[-1]) & (indices < indptr.shape[0] - 1)  # the others are padding
    return jnp.where(is_entry, -products, 0), None, None, y


_solve.defvjp(_forward, _backward)


def _parts(A):
    """CSR arrays, also of arrays that are traced; with padding."""
    kind = jax_kind(A)
    if kind is None:
        return csr_parts(A)
    require_plain(A, kind)
    if kind in ("CSR", "BCSR"):
        return A.data, A.indices, A.indptr, tuple(A.shape)
    return sorted_csr(jnp, *jax_triplets(jnp, A), tuple(A.shape))


def solve(A, b, *, rtol=None, **options):
    """
    Solves A x = b, differentiable in the values of A and in b.

    Parameters
    ----------
    A : BCSR, BCOO, CSR, CSC or COO of jax.experimental.sparse, or tuple (data, indices, indptr) of CSR
    b : array of n values, or of n by k
    rtol : float
        Default: 1e-10 for float64, 1e-5 for float32.
    **options : those of `tessera_sparse.Solver` that are texts or numbers

    Returns
    -------
    array of the shape and type of b

    A solve that is not verified raises `ConvergenceError` (under jit as an error of the callback). Set-ups of the last
    eight matrices are kept; forward and backward passes share them if A is symmetric.

    Examples
    --------
    >>> import jax, tessera_sparse as ts
    >>> import jax.numpy as jnp
    >>> A = jnp.array([4.0, 1.0, 1.0, 3.0]), jnp.array([0, 1, 0, 1]), jnp.array([0, 2, 4])
    >>> jax.grad(lambda b: ts.jax.solve(A, b).sum())(jnp.array([1.0, 2.0])).round(4).tolist()
    [0.18..., 0.27...]
    """
    data, indices, indptr, shape = _parts(A)
    if shape[0] != shape[1]:
        raise ValueError(f"expected a square matrix, not {shape[0]} by {shape[1]}")
    b = jnp.asarray(b, dtype=data.dtype)
    for name, value in options.items():
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"{name} is a {type(value).__name__}; options of jax.solve are texts and numbers")
    options["rtol"] = rtol if rtol is not None else 1e-10 if data.dtype == jnp.float64 else 1e-5
    return _solve(tuple(sorted(options.items())), data, indices, indptr, b)
