# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices of SciPy, PyTorch, JAX and PyData as CSR arrays."""
import numpy as np

from . import _arrays
from ._errors import counted


def csr_parts(a):
    """(data, indices, indptr, shape) of a sparse matrix of any library in CSR, or None if it is no sparse matrix."""
    library = _arrays.owner_of(a)
    if library == "torch" and "sparse" in str(getattr(a, "layout", "")):
        return _of_torch(a)
    if library == "jax" and jax_kind(a) is not None:
        return _of_jax(a)
    if isinstance(a, tuple) and len(a) in (3, 4):
        data, indices, indptr = a[:3]
        if len(a) == 4:
            return data, indices, indptr, tuple(a[3])
        nrows = (len(indptr) if hasattr(indptr, "__len__") else indptr.shape[0]) - 1
        return data, indices, indptr, (nrows, nrows)
    if not hasattr(a, "tocsr") and hasattr(a, "to_coo"):  # DOK of PyData
        a = a.to_coo()
    if not hasattr(a, "tocsr") and hasattr(a, "to_scipy_sparse"):  # GCXS of PyData
        a = a.to_scipy_sparse()
    if getattr(a, "format", None) == "lil" and a.dtype == np.longdouble:
        return _of_lil(a)
    if hasattr(a, "tocsr"):
        a = a.tocsr()
        return a.data, a.indices, a.indptr, tuple(a.shape)
    return None


def _of_lil(a):
    """SciPy's own conversion rounds long doubles to float64."""
    data = np.array([value for row in a.data for value in row], dtype=a.dtype)
    indices = np.array([column for row in a.rows for column in row], dtype=np.int64)
    return data, indices, np.cumsum([0] + [len(row) for row in a.rows]), tuple(a.shape)


def csr_of_dense(a):
    """CSR parts of a dense matrix: its nonzeros."""
    a = _arrays.host_array(a, "A", take_complex=True)
    if a.ndim != 2:
        raise ValueError(f"A has {counted(a.ndim, 'dimension')}; a matrix has 2")
    rows, columns = np.nonzero(a)
    indptr = np.zeros(a.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=a.shape[0]), out=indptr[1:])
    return a[rows, columns], columns.astype(np.int32), indptr, a.shape


# ---- PyTorch ----

def _of_torch(a):
    if len(a.shape) != 2:
        raise ValueError(f"A has {len(a.shape)} dimensions; a matrix has 2")
    a = a.detach()
    if "csr" not in str(a.layout):
        if "coo" in str(a.layout):
            a = a.coalesce()
        try:
            a = a.to_sparse_csr()
        except (RuntimeError, NotImplementedError):  # blocks, which not all versions convert at once
            a = a.to_sparse().coalesce().to_sparse_csr()
    return a.values(), a.col_indices(), a.crow_indices(), tuple(a.shape)


# ---- JAX ----

_JAX_KINDS = ("BCOO", "BCSR", "COO", "CSC", "CSR")


def jax_kind(a):
    """The name of the sparse type of jax.experimental.sparse; None: it is none."""
    for kind in type(a).__mro__:
        if kind.__name__ in _JAX_KINDS:
            return kind.__name__
    return None


def require_plain(a, kind):
    if len(a.shape) != 2 or getattr(a, "n_batch", 0) or getattr(a, "n_dense", 0):
        raise ValueError(f"a {kind} of shape {tuple(a.shape)} with n_batch={getattr(a, 'n_batch', 0)}, n_dense="
                         f"{getattr(a, 'n_dense', 0)} is no matrix; wanted are 2 dimensions, both sparse")


def _of_jax(a):
    """JAX's rules: duplicates are summed (the library does it), entries of indices out of range are padding."""
    kind = jax_kind(a)
    require_plain(a, kind)
    if kind in ("CSR", "BCSR") and int(a.indptr[-1]) == a.data.shape[0] and not bool((a.indices >= a.shape[1]).any()):
        return a.data, a.indices, a.indptr, tuple(a.shape)
    data, rows, columns = (np.asarray(part) for part in jax_triplets(np, a))
    data, indices, indptr, shape = sorted_csr(np, data, rows, columns, tuple(a.shape))
    count = int(indptr[-1])
    return data[:count], indices[:count], indptr, shape


def jax_triplets(xp, a):
    """(data, rows, columns) of JAX's sparse types; `xp` is numpy, or jax.numpy for arrays that are traced."""
    kind = jax_kind(a)
    if kind == "COO":
        return a.data, a.row, a.col
    if kind == "BCOO":
        return a.data, a.indices[:, 0], a.indices[:, 1]
    places = xp.arange(a.data.shape[0])
    outer = xp.searchsorted(xp.asarray(a.indptr), places, side="right") - 1  # beyond the last offset: out of range
    return (a.data, a.indices, outer) if kind == "CSC" else (a.data, outer, a.indices)


def sorted_csr(xp, data, rows, columns, shape):
    """CSR arrays of triplets, with the padding behind the last offset."""
    rows = xp.where(columns >= shape[1], shape[0], rows)
    order = xp.lexsort((columns, rows))
    indptr = xp.searchsorted(rows[order], xp.arange(shape[0] + 1))
    return data[order], columns[order], indptr, shape


def kept_entries(data, indices, indptr, shape):
    """CSR arrays of NumPy without padding."""
    if int(indptr[-1]) == data.shape[0] and not (indices >= shape[1]).any():
        return data, indices, indptr, shape
    rows = np.searchsorted(indptr, np.arange(data.shape[0]), side="right") - 1
    data, indices, indptr, shape = sorted_csr(np, data, rows, indices, shape)
    count = int(indptr[-1])
    return data[:count], indices[:count], indptr, shape
