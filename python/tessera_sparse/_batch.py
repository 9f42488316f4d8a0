# SPDX-License-Identifier: Apache-2.0
"""Many small systems of one sparsity pattern in one call."""
import ctypes

import numpy as np

from . import _abi, _arrays
from ._context import context_of_size
from ._errors import counted
from ._interrupts import interruptible
from ._library import check, enum_values, lib, new_struct
from ._matrix import context_for
from ._options import options_with

_FLAGS, _COUNTS = ("converged", "verified"), ("iterations", "refinements")
_NORMS = ("rhs_norm", "residual_norm", "residual_bound", "relative_residual")


class BatchResult:
    """
    What became of the systems of a batch: arrays with a value for each.

    Attributes
    ----------
    x : array of m by n
        The solutions, or the best x known, in the library of B.
    converged, verified : array of bool
        As in `Result`, by the true residual of each system.
    reason, solver : array of str
        Why each solve ended, such as "rtol", and the method that it used last; "auto": none was needed, or could begin.
    iterations, refinements : array of int
    relative_residual, residual_norm, residual_bound, rhs_norm : array of float
        The true ||b - A x|| / ||b||, the norm, the bound on its rounding error, and ||b||.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> pattern = ([0, 1, 0, 1], [0, 2, 4])
    >>> ts.solve_batch(pattern, [[2.0, 0, 0, 4]], [[2.0, 4]], rtol=1e-12)
    <tessera_sparse.BatchResult: 1 of 1 system verified>
    """

    def __init__(self, x, raw):
        self.x = x
        for name in _FLAGS:
            setattr(self, name, raw[name] != 0)
        for name in _COUNTS + _NORMS:
            setattr(self, name, raw[name].copy())
        self.reason, self.solver = _named("tess_reason", raw["reason"]), _named("tess_solver_kind", raw["solver"])

    def __len__(self):
        return len(self.verified)

    def __repr__(self):
        return f"<tessera_sparse.BatchResult: {int(self.verified.sum())} of {counted(len(self), 'system')} verified>"


def _named(enum, numbers):
    """Names of an array of numbers."""
    names = {number: name for name, number in enum_values(enum).items()}
    found, places = np.unique(numbers, return_inverse=True)
    return np.array([names[number] for number in found.tolist()], dtype=np.str_)[places]


def _pattern_of(pattern):
    """(indices, indptr) of NumPy."""
    if isinstance(pattern, tuple) and len(pattern) == 2:
        indices, indptr = pattern
    elif getattr(pattern, "format", None) == "csr":
        indices, indptr = pattern.indices, pattern.indptr
        if pattern.shape[0] != pattern.shape[1]:
            raise ValueError(f"the pattern is {pattern.shape[0]} by {pattern.shape[1]}; the systems are square")
    else:
        raise TypeError("the pattern is a sparse matrix in CSR, whose values each row of `values` replaces "
                        "(`tocsr()` makes one), or a tuple (indices, indptr)")
    indices, indptr = (_arrays.to_host(part) for part in (indices, indptr))
    for name, part in ("indices", indices), ("indptr", indptr):
        if part.ndim != 1 or part.size > 0 and part.dtype.kind not in "iu":
            raise TypeError(f"{name} of the pattern: whole numbers in one dimension, not {part.dtype} in {part.ndim}")
    if indptr.size == 0:
        raise ValueError("indptr of the pattern is empty; it has one value more than there are rows")
    return indices, indptr


def _sorted(indices, indptr):
    """(indices with ascending columns in each row, the order that values need, or None)."""
    lengths = np.diff(indptr)
    if indices.size == 0 or (lengths < 0).any() or int(lengths.sum()) != indices.size:
        return indices, None  # the library says what is wrong
    rows = np.repeat(np.arange(lengths.size), lengths)
    descends = (np.diff(indices) < 0) & (np.diff(rows) == 0)
    if not descends.any():
        return indices, None
    order = np.lexsort((indices, rows))
    return indices[order], order


def _shape(array):
    return tuple(getattr(array, "shape", None) or array.__cuda_array_interface__["shape"])


def _taken(array, name, shape, context, device):
    """A contiguous FP64 array where the call computes, of a shape whose first number may be None: any."""
    if device:
        if not _arrays.on_device(array):
            raise TypeError(f"{name} is in the memory of the host, and values in that of a GPU: pass all in one")
        array = _arrays.to_double(_arrays.imported(array, context), context)
        _arrays.wait_for(array, context.stream_address)
    else:
        array = np.ascontiguousarray(_arrays.host_array(array, name), dtype=np.float64)
    found = _shape(array)
    if len(found) != 2 or found[1] != shape[1] or shape[0] not in (None, found[0]):
        rows = "m" if shape[0] is None else shape[0]
        raise ValueError(f"{name} has the shape {found}; wanted is ({rows}, {shape[1]}), a row for each system")
    return array


def _solutions(x0, like, shape, context, device):
    """The array of x, with the initial guesses."""
    if not device:
        return np.zeros(shape) if x0 is None else np.array(_taken(x0, "x0", shape, context, False))
    x = _arrays.empty_like(like, shape)
    x[...] = 0.0 if x0 is None else _taken(x0, "x0", shape, context, True)
    _arrays.wait_for(x, context.stream_address)
    return x


def _indices(array):
    """An array of indices that the library reads, and its bits."""
    kept = array if array.dtype in (np.dtype(np.int32), np.dtype(np.int64)) else array.astype(np.int64)
    return np.ascontiguousarray(kept), 8 * kept.dtype.itemsize


def _described(indices, indptr, nnz, shape, arrays, device):
    """The C struct, and what it points to."""
    batch = new_struct(_abi.tess_batch)
    (indices, batch.col_ind_bits), (indptr, batch.row_ptr_bits) = _indices(indices), _indices(indptr)
    batch.systems, batch.n, batch.nnz = shape[0], shape[1], nnz
    batch.col_ind, batch.row_ptr = _arrays.address(indices), _arrays.address(indptr)
    batch.pattern_where = _abi.TESS_MEMORY_HOST
    batch.where = _abi.TESS_MEMORY_DEVICE if device else _abi.TESS_MEMORY_HOST
    address = _arrays.device_address if device else _arrays.address
    for name, array in zip(("val", "b", "x"), arrays):
        setattr(batch, name, address(array))
    return batch, (indices, indptr)


def solve_batch(pattern, values, B, x0=None, *, context=None, solver=None, precond=None, rtol=None, atol=None,
                divergence_tolerance=None, max_iterations=None, restart=None, time_limit=None, stop_norm=None):
    """
    Solves m systems A_s x_s = b_s whose matrices have one sparsity pattern, and verifies each.

    Parameters
    ----------
    pattern : sparse matrix in CSR, whose own values are not read, or a tuple (indices, indptr)
    values : array of m by nnz, a row for each system, in the order of `pattern.data`
    B, x0 : arrays of m by n; x0 is optional. On a GPU all of values, B, x0, or none. Other types become FP64.
    solver : {"auto", "cg", "bicgstab", "gmres"}
    precond : {"auto", "none", "jacobi", "ilu0"}
    rtol, atol, divergence_tolerance, max_iterations, restart, time_limit, stop_norm : as those of `solve`

    Returns
    -------
    BatchResult
        A system that cannot be solved has its own `reason`; the others are as without it.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix.gallery("laplace2d", 10).to_scipy()
    >>> result = ts.solve_batch(A, np.outer([1.0, 2.0, 4.0], A.data), np.ones((3, 100)), rtol=1e-10)
    >>> result.verified.all(), result.x.shape
    (np.True_, (3, 100))
    """
    indices, indptr = _pattern_of(pattern)
    indices, order = _sorted(indices, indptr)
    keep = []
    given = options_with({name: value for name, value in (
        ("solver", solver), ("precond", precond), ("rtol", rtol), ("atol", atol),
        ("divergence_tolerance", divergence_tolerance), ("max_iterations", max_iterations), ("restart", restart),
        ("time_limit", time_limit), ("stop_norm", stop_norm)) if value is not None}, keep)
    if context is None and not _arrays.on_device(values):
        values = _arrays.host_array(values, "values")
        context = context_of_size(len(values) * (indptr.size - 1), values.size) if values.ndim else None
    context = context_for(context, (values,))
    device = context.on_gpu and _arrays.on_device(values)
    with context.lock:
        val = _taken(values, "values", (None, indices.size), context, device)
        shape = (_shape(val)[0], indptr.size - 1)
        b = _taken(B, "B", shape, context, device)
        x = _solutions(x0, b, shape, context, device)
        if order is not None:
            if device:
                raise ValueError("columns of the pattern descend within a row: sort them, and values like them")
            val = np.ascontiguousarray(val[:, order])
        batch, held = _described(indices, indptr, indices.size, shape, (val, b, x), device)
        raws = (_abi.tess_batch_result * shape[0])()
        check(interruptible(context, lib.tess_batch_solve, context.pointer, ctypes.byref(batch), ctypes.byref(given),
                            raws), context.pointer)
    del held, keep
    raw = np.ctypeslib.as_array(raws) if shape[0] else np.zeros(0, np.dtype(_abi.tess_batch_result))
    return BatchResult(_arrays.in_owner_of(B, x, np.float64), raw)
