# SPDX-License-Identifier: Apache-2.0
"""
Solves with derivatives of any order for JAX, also under jit, vmap, jvp and grad.

    import tessera_sparse as ts
    x = ts.jax.solve(A, b)           A: jax.experimental.sparse.BCSR, or (data, indices, indptr)

The library is called on the host (jax.pure_callback): arrays of a GPU are copied there and back.
"""
import collections
import functools
import hashlib
import math
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
    """
    x for the arrays of a callback. Under vmap all have the batches' dimensions in front, of length 1 where they have no
    batch: one matrix with many b is one solve of several columns.
    """
    data, indices, indptr, b = (np.asarray(part) for part in (data, indices, indptr, b))
    batch = np.broadcast_shapes(data.shape[:-1], indices.shape[:-1], indptr.shape[:-1])
    rest = b.ndim - len(batch)  # 1 or 2
    x = np.empty(np.broadcast_shapes(batch, b.shape[:len(batch)]) + b.shape[len(batch):], b.dtype)
    if math.prod(batch) == 1:
        columns = np.moveaxis(b.reshape((-1,) + b.shape[len(batch):]), 0, -1)  # n by B, or n by k by B
        solved = _solved(transposed, options, data.reshape(-1), indices.reshape(-1), indptr.reshape(-1),
                         columns.reshape(columns.shape[0], -1) if columns.shape[1:] != (1,) else columns[:, 0])
        x[...] = np.moveaxis(solved.reshape(columns.shape), -1, 0).reshape(x.shape)
        return x
    parts = [np.broadcast_to(part, x.shape[:-rest] + part.shape[len(batch):]) for part in (data, indices, indptr, b)]
    for place in np.ndindex(x.shape[:-rest]):
        x[place] = _solved(transposed, options, *(part[place] for part in parts))
    return x


def _solved(transposed, options, data, indices, indptr, b):
    solver = _solver(data, indices, indptr, options)
    result = (solver.transposed() if transposed else solver)._solve_typed(b, None, b.dtype)
    if not result.verified:
        raise ConvergenceError(result)
    return np.asarray(result.x)


def _call(transposed, options, data, indices, indptr, b):
    kind = jax.ShapeDtypeStruct(b.shape, b.dtype)
    return jax.pure_callback(functools.partial(_on_host, transposed, options), kind, data, indices, indptr, b,
                             vmap_method="expand_dims")


def _rows_of(data, indices, indptr):
    """The row of each stored entry; of padding one that is out of range."""
    n = indptr.shape[0] - 1
    rows = jnp.searchsorted(indptr, jnp.arange(data.shape[0]), side="right") - 1
    return jnp.where(indices < n, rows, n)


def _product(data, rows, columns, x):
    """A x, differentiable in the values and in x."""
    terms = x.at[columns].get(mode="fill", fill_value=0) * data.reshape((-1,) + (1,) * (x.ndim - 1))
    return jnp.zeros_like(x).at[rows].add(terms, mode="drop")


def _solve(options, data, indices, indptr, b):
    """
    x as the solution of a linear equation, which JAX differentiates in both directions and any number of times: each
    derivative is a product with A's derivative, and a solve with A or A^T again.
    """
    rows = _rows_of(data, indices, indptr)

    def product(x):
        return _product(data, rows, indices, x)

    def solve_with(transposed):
        return lambda _product, right: _call(transposed, options, data, indices, indptr, right)
    return jax.lax.custom_linear_solve(product, b, solve_with(False), solve_with(True))


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
    eight matrices are kept; forward and backward passes share them if A is symmetric. A batch of `vmap` with one matrix
    is one solve of several columns. Duplicates in A count as their sum, and padding has the derivative 0.

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
    return _solve(_checked(options, rtol, data.dtype), data, indices, indptr, b)


def _checked(options, rtol, dtype):
    """Options as a tuple that can be hashed, with the tolerance of the type."""
    for name, value in options.items():
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"{name} is a {type(value).__name__}; options of jax.solve are texts and numbers")
    rtol = rtol if rtol is not None else 1e-10 if dtype == jnp.float64 else 1e-5
    return tuple(sorted(dict(options, rtol=rtol).items()))
