# SPDX-License-Identifier: Apache-2.0
"""Several columns in one call of the library: arrays of the host as they lie in memory."""
import ctypes

import numpy as np

from . import _abi, _arrays
from ._library import check, lib

_SIZE = np.dtype(np.float64).itemsize


def in_place(array):
    """An FP64 array of two dimensions that the library can read: the array itself where its strides allow."""
    array = np.asarray(array, dtype=np.float64)
    if array.flags.aligned and all(stride % _SIZE == 0 for stride in array.strides):
        return array
    return np.array(array)


def described(array):
    """The C struct of an array of `in_place`, which must outlive it."""
    (rows, columns), (row_stride, column_stride) = array.shape, (stride // _SIZE for stride in array.strides)
    return _abi.tess_columns(rows, columns, row_stride, column_stride, _arrays.address(array),
                             _abi.TESS_MEMORY_HOST)


def multiplied(matrix, x):
    """A x for a host array of n by k."""
    x = in_place(_arrays.host_array(x, "x"))
    y = np.empty((matrix.shape[0], x.shape[1]))
    with matrix.context.lock:
        check(lib.tess_matrix_spmm(matrix.pointer, 1.0, ctypes.byref(described(x)), 0.0, ctypes.byref(described(y))),
              matrix.context.pointer)
    return y


def preconditioned(precond, r):
    """M^-1 R for a host array of n by k; columns lie one after another."""
    r = in_place(_arrays.host_array(r, "r"))
    if r.shape[0] != precond.matrix.shape[0]:
        raise ValueError(f"r has {r.shape[0]} rows; the preconditioner has {precond.matrix.shape[0]}")
    z = np.empty(r.shape, order="F")
    with precond.context.lock:
        check(lib.tess_precond_apply_columns(precond.pointer, ctypes.byref(described(r)), ctypes.byref(described(z))),
              precond.context.pointer, precond._raised)
    return z
