# SPDX-License-Identifier: Apache-2.0
"""Vectors of the C library over arrays of the caller."""
import ctypes
import math

import numpy as np

from . import _abi, _arrays
from ._dlpack import DeviceMemory
from ._library import Handle, check, lib


def wrap(context, size, where, keep, precision=_abi.TESS_PRECISION_FP64):
    """A vector over memory of the context; `keep` owns it."""
    pointer = ctypes.c_void_p()
    check(lib.tess_vector_wrap(context.pointer, size, precision, where or 64, ctypes.byref(pointer)), context.pointer)
    return Handle(pointer.value, lib.tess_vector_destroy, (context.handle,), keep)


def create(context, size, precision=_abi.TESS_PRECISION_FP64):
    """A vector of zeros."""
    pointer = ctypes.c_void_p()
    check(lib.tess_vector_create(context.pointer, size, precision, ctypes.byref(pointer)), context.pointer)
    return Handle(pointer.value, lib.tess_vector_destroy, (context.handle,))


def memory_of(context):
    """Where the arrays of a context are."""
    return _abi.TESS_MEMORY_DEVICE if context.on_gpu else _abi.TESS_MEMORY_HOST


def address_of(array):
    return array.address if isinstance(array, DeviceMemory) else _arrays.address(array)


def precision_of(dtype):
    return _arrays.PRECISIONS[np.dtype(dtype).str]


def vector_with(context, array, dtype):
    """A vector of the library, in float32 or float64, with a copy of an array in either."""
    vector = create(context, array.size, precision_of(dtype))
    check(lib.tess_vector_set(vector.pointer, address_of(array) or 64, precision_of(array.dtype), memory_of(context)),
          context.pointer)
    return vector


def wrap_host(context, array):
    """A vector that is a contiguous FP64 array of the host. Only for a context of the host."""
    return wrap(context, array.size, _arrays.address(array), (array,))


def vector_of(context, array):
    """A vector with the values of an array: the array itself where it is in the context's memory."""
    if context.on_gpu and _arrays.on_device(array):
        if isinstance(array, DeviceMemory) and array.dtype == np.float32:
            return vector_with(context, array, np.dtype(np.float64))
        array = _arrays.to_double(array, context)
        _arrays.wait_for(array, context.stream_address)
        return wrap(context, math.prod(array.shape), _arrays.device_address(array), (array,))
    array = np.ascontiguousarray(_arrays.host_array(array, "a vector"), dtype=np.float64)
    if not context.on_gpu:
        return wrap_host(context, array)
    vector = create(context, array.size)
    check(lib.tess_vector_set(vector.pointer, _arrays.address(array), _abi.TESS_PRECISION_FP64,
                              _abi.TESS_MEMORY_HOST), context.pointer)
    return vector


def result_vector(context, size, like, start=None):
    """(vector, function that returns its values as an array): memory of the caller's library where it can be."""
    if context.on_gpu and _arrays.on_device(like):
        array = _arrays.empty_like(like, (size,))
        theirs = _arrays.wait_for(array, context.stream_address)  # its memory may be that of a freed array
        vector = wrap(context, size, _arrays.device_address(array), (array,))
        if start is None:
            check(lib.tess_vector_fill(vector.pointer, 0.0), context.pointer)
        else:
            given = vector_of(context, start)
            check(lib.tess_vector_copy(given.pointer, vector.pointer), context.pointer)

        def finished():
            if theirs != context.stream_address:
                context.synchronize()
            return array
        return vector, finished
    if start is None:
        array = np.zeros(size)
    else:
        array = np.array(_arrays.host_array(start, "x0"), dtype=np.float64).reshape(-1)
    if not context.on_gpu:
        return wrap_host(context, array), lambda: array
    vector = vector_of(context, array)

    def fetch():
        check(lib.tess_vector_get(vector.pointer, _arrays.address(array), _abi.TESS_PRECISION_FP64,
                                  _abi.TESS_MEMORY_HOST), context.pointer)
        return array
    return vector, fetch
