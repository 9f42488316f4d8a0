# SPDX-License-Identifier: Apache-2.0
"""
Complex systems in the library's real form (tess_matrix_is_complex): a complex array of n values is one of 2 n real
ones, re and im in turn, and shares their memory. A real matrix with a complex b has two real right-hand sides.
"""
import sys

import numpy as np

from . import _arrays


def is_complex(array):
    """Whether an array of any library, a matrix or an operator has complex numbers."""
    if array is None:
        return False
    if isinstance(array, (list, tuple)):
        return np.iscomplexobj(array[0] if isinstance(array, tuple) and len(array) in (3, 4) else array)
    dtype = getattr(array, "dtype", None)
    return dtype is not None and ("complex" in str(dtype) or getattr(dtype, "kind", "") == "c")


def real_type(dtype):
    """float32 of complex64, and so on; of a real type itself."""
    return np.empty(0, dtype).real.dtype


def complex_type(dtype):
    """complex64 of float32, complex128 of float64; NumPy's rule for all other real types."""
    return np.result_type(dtype, np.complex64)


def flattened(array):
    """(n,) to (2 n,), and (n, k) to (2 n, k), in real numbers; real values get im = 0."""
    library = _arrays.owner_of(array)
    if library == "torch":
        torch = sys.modules["torch"]
        array = array.detach()
        array = array if array.dtype.is_complex else array.to(torch.promote_types(array.dtype, torch.complex64))
        parts = torch.view_as_real(array.resolve_conj().contiguous())
        return parts.reshape(-1) if array.ndim == 1 else parts.permute(0, 2, 1).reshape(-1, array.shape[1])
    if library != "cupy":
        array, library = np.asarray(array), "numpy"
    xp = sys.modules[library]
    array = array.astype(complex_type(array.dtype), copy=False)
    array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if array.ndim != 2:
        return xp.ascontiguousarray(array).reshape(-1).view(real_type(array.dtype))
    return xp.ascontiguousarray(array.T).view(real_type(array.dtype)).T


def restored(array):
    """The other way: (2 n,) to (n,), and (2 n, k) to (n, k)."""
    library = _arrays.owner_of(array)
    if library == "torch":
        torch = sys.modules["torch"]
        if array.ndim == 1:
            return torch.view_as_complex(array.contiguous().reshape(-1, 2))
        parts = array.reshape(-1, 2, array.shape[1]).permute(0, 2, 1)
        return torch.view_as_complex(parts.contiguous())
    xp = sys.modules[library]
    wide = complex_type(array.dtype)
    return xp.ascontiguousarray(array).view(wide) if array.ndim == 1 else xp.ascontiguousarray(array.T).view(wide).T


def parts(array):
    """(n,) or (n, k) as (n, 2) or (n, 2 k): the real parts, then the imaginary ones."""
    library = _arrays.owner_of(array)
    xp = sys.modules[library] if library in ("torch", "cupy") else np
    array = array if library in ("torch", "cupy") else np.asarray(array)
    columns = array.reshape(array.shape[0], -1)
    imag = columns.imag if is_complex(columns) else 0 * columns
    return xp.concatenate([columns.real, imag], 1) if library == "cupy" else (
        xp.cat([columns.real, imag], 1) if library == "torch" else np.concatenate([columns.real, imag], axis=1))


def joined(array, shape):
    """The other way, to the shape of x."""
    half = array.shape[1] // 2
    return (array[:, :half] + 1j * array[:, half:]).reshape(shape)


def shape_of_x(columns, b):
    """The shape of x with so many rows for a b."""
    return (columns,) + tuple(b.shape[1:])


def applied(function, array):
    """A real linear function to a complex array, part by part."""
    imag = function(array.imag)
    return function(array.real) + 1j * imag
