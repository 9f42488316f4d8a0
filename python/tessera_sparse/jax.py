# SPDX-License-Identifier: Apache-2.0
"""
Solves with derivatives of any order for JAX, also under jit, vmap, jvp and grad.

    import tessera_sparse as ts
    x = ts.jax.solve(A, b)           A: jax.experimental.sparse.BCSR, or (data, indices, indptr)

XLA calls the library on its own arrays, of the host or of a CUDA GPU (_xla.py); where it cannot, the library is called
on the host by jax.pure_callback, which copies them. `paths()` tells which.
"""
import collections
import contextlib
import functools
import json
import math
import threading

import jax
import jax.numpy as jnp
import numpy as np

from . import _in_place, _xla
from ._containers import csr_parts, jax_kind, jax_triplets, kept_entries, require_plain, sorted_csr
from ._context import default_context
from ._errors import ConvergenceError, TesseraError
from ._finalizers import raise_later
from ._matrix import BY_SIZE, Matrix
from ._solver import Solver

_KEPT = 8
_MOST_ON_GPU = 2**31 - 2**23  # entries and rows: see _in_place.DeviceCopy
_lock = threading.Lock()
_setups: list = []  # of matrices, the last one first
_failures: collections.deque = collections.deque(maxlen=16)  # exceptions whose texts XLA has taken along


class _Setup:
    """A solver for copies of the arrays of a matrix."""

    def __init__(self, context, arrays, options):
        self.context, self.options = context, options
        copy = _in_place.HostCopy if context is None else _in_place.DeviceCopy
        self.copies = [copy(context, array) for array in arrays]
        self.solver = Solver(self._matrix(), **dict(options))
        self.of_transpose = None

    def _matrix(self):
        data, indices, indptr = (copy.array for copy in self.copies)
        n = indptr.size - 1
        if self.context is None:
            return Matrix(kept_entries(data, indices, indptr, (n, n)), context=BY_SIZE)
        try:
            return Matrix((data, indices, indptr, (n, n)), context=self.context)
        except TesseraError:  # padding, or an error that this raises too
            parts = kept_entries(*(copy.on_host() for copy in self.copies), (n, n))
            return Matrix(parts, context=self.context)

    def is_for(self, context, arrays, options):
        return self.context is context and self.options == options and all(
            copy.equals(array) for copy, array in zip(self.copies, arrays))


def _setup(context, arrays, options):
    """The set-up for a matrix: the same one in forward and backward passes, and for the same matrix later."""
    with _lock, context.lock if context else contextlib.nullcontext():
        for k, setup in enumerate(_setups):
            if setup.is_for(context, arrays, options):
                _setups.insert(0, _setups.pop(k))
                return setup
        _setups.insert(0, _Setup(context, arrays, options))
        del _setups[_KEPT:]
        return _setups[0]


def _solve_matrix(context, transposed, options, arrays, b, x):
    """Solves with one matrix for the rows of b, an array of k by n, and writes x."""
    setup = _setup(context, arrays, options)
    with setup.solver.context.lock:
        if transposed and setup.of_transpose is None:
            setup.of_transpose = setup.solver.transposed()
        solver = setup.of_transpose if transposed else setup.solver
        if x.dtype not in _in_place.TYPES or context is None and solver.context.on_gpu:
            result = solver._solve_typed(b.T if x.shape[0] > 1 else b[0], None, x.dtype)
            x[...] = result.x.T
            results = result.columns
        else:
            results = _in_place.solve_rows(solver, b, x)
    for result in results:
        if not result.verified:
            raise ConvergenceError(result)


def _at(part, place):
    """The part at a place of a batch, in which a length of 1 stands for any."""
    return part[tuple(0 if size == 1 else k for k, size in zip(place, part.shape))]


def _solve_all(context, request, data, indices, indptr, b, x):
    """
    Solves for the rows of b, of k by n, and writes x. Under vmap all arrays have its dimensions in front, of length 1
    where they have no batch. Right-hand sides of one matrix are one solve of several columns.
    """
    transposed, options = json.loads(request)
    options, n = tuple(sorted(options.items())), x.shape[-1]
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in (data, indices, indptr)))
    while batch and batch[-1] == 1:
        batch = batch[:-1]
    for place in np.ndindex(*x.shape[:len(batch)]):
        right, left = (_at(part, place) for part in (b, x))
        if left.size:
            arrays = [_at(part, place).reshape(-1) for part in (data, indices, indptr)]
            _solve_matrix(context, transposed, options, arrays, right.reshape(left.size // n, n),
                          left.reshape(left.size // n, n))


def _of_xla(request, place, *arrays):
    _solve_all(place and default_context("gpu", *place), request, *arrays)


def _failed(error):
    _failures.append(error)
    if not isinstance(error, Exception):
        raise_later(error)  # Ctrl-C: XLA takes along the text alone


_xla.register(_of_xla, _failed)


@functools.lru_cache(256)  # the same function for the same request: JAX compiles once for each
def _callback(request):
    def solved(*arrays):
        data, indices, indptr, b = (np.asarray(part) for part in arrays)
        batch = [part.shape[:-1] for part in (data, indices, indptr)] + [b.shape[:-2]]
        x = np.empty(np.broadcast_shapes(*batch) + b.shape[-2:], b.dtype)
        try:
            _solve_all(None, request, data, indices, indptr, b, x)
        except Exception as error:
            _failures.append(error)
            raise
        return x
    return solved


def _int32(indices):
    """Indices in 32 bits; those out of range stay so, as -1 or a large number (see _in_place.DeviceCopy)."""
    if indices.dtype.itemsize < 4:
        return jnp.maximum(indices.astype(jnp.int32), -1)
    least = 0 if jnp.issubdtype(indices.dtype, jnp.unsignedinteger) else -1
    return jnp.clip(indices, least, _MOST_ON_GPU).astype(jnp.int32)


def _signed(indices):
    """Indices in a type that the library reads."""
    return indices if indices.dtype in (jnp.int32, jnp.int64) else _int32(indices)


def _ways(request, kind, entries):
    """The functions by which each platform calls the library: (that of pure_callback, {platform: the foreign one})."""
    def by_callback(*arrays):
        return jax.pure_callback(_callback(request), kind, *arrays, vmap_method="expand_dims")

    def on_host(data, indices, indptr, b):
        call = jax.ffi.ffi_call(_xla.handlers["cpu"], kind, vmap_method="expand_dims")
        return call(data, _signed(indices), _signed(indptr), b, request=request)

    def on_gpu(data, indices, indptr, b):
        call = jax.ffi.ffi_call(_xla.handlers["cuda"], kind, vmap_method="expand_dims")
        return call(data, _int32(indices), _int32(indptr), b, request=request)
    ways = {"cpu": on_host, "cuda": on_gpu}
    return by_callback, {platform: way for platform, way in ways.items() if platform in _xla.handlers and
                         kind.dtype in (jnp.float32, jnp.float64) and (platform == "cpu" or entries < _MOST_ON_GPU)}


def _call(transposed, options, data, indices, indptr, b):
    """A^-1 b, or A^-T b, for b of n values or of n by k. Not differentiable."""
    rows = b.T if b.ndim == 2 else b[None]
    by_callback, foreign = _ways(json.dumps([bool(transposed), dict(options)]),
                                 jax.ShapeDtypeStruct(rows.shape, rows.dtype), max(data.shape[0], rows.shape[1]))
    x = jax.lax.platform_dependent(data, indices, indptr, rows, default=by_callback, **foreign)
    return x.T if b.ndim == 2 else x[0]


def paths():
    """
    How each platform of JAX calls the library: "in place", by XLA's foreign function interface, or why it does not.
    All other platforms call it on the host, by copies.

    Examples
    --------
    >>> import tessera_sparse as ts
    >>> ts.jax.paths()["cpu"]
    'in place'
    """
    return {**{platform: "in place" for platform in _xla.handlers}, **_xla.reasons}


def _rows_of(data, indices, indptr):
    """The row of each stored entry; of padding one that is out of range."""
    n = indptr.shape[0] - 1
    rows = jnp.searchsorted(indptr, jnp.arange(data.shape[0]), side="right") - 1
    return jnp.where(indices < n, rows, n)


def _product(data, rows, columns, x):
    """A x, differentiable in the values and in x."""
    terms = x.at[columns].get(mode="fill", fill_value=0) * data.reshape((-1,) + (1,) * (x.ndim - 1))
    return jnp.zeros_like(x).at[rows].add(terms, mode="drop")


@functools.partial(jax.jit, static_argnums=0)
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

    A solve that is not verified raises `ConvergenceError`; where JAX runs it later, as under jit, a `JaxRuntimeError`
    with the same text. Set-ups of the last eight matrices are kept, for arrays of exactly the same values; forward and
    backward passes share them if A is symmetric. A batch of `vmap` with one matrix is one solve of several columns.
    Duplicates in A count as their sum, and padding has the derivative 0.

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
    settings, b = _checked(options, rtol, data.dtype), jnp.asarray(b, dtype=data.dtype)
    try:
        x = _solve(settings, data, indices, indptr, b)
        return x if isinstance(x, jax.core.Tracer) else x.block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        raise _original(error) from None


def _original(error):
    """The exception whose text an error of XLA has."""
    text = str(error)
    return next((failure for failure in reversed(_failures) if str(failure) and str(failure) in text), error)


def _checked(options, rtol, dtype):
    """Options as a tuple that can be hashed, with the tolerance of the type."""
    for name, value in options.items():
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"{name} is a {type(value).__name__}; options of jax.solve are texts and numbers")
    rtol = rtol if rtol is not None else 1e-10 if dtype == jnp.float64 else 1e-5
    return tuple(sorted(dict(options, rtol=rtol).items()))
