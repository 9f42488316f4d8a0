# SPDX-License-Identifier: Apache-2.0
"""
Solves on memory of the caller: b and x are arrays of k by n, a row for each right-hand side, of NumPy for a context of
the host and `DeviceMemory` for one of a GPU. Nothing is copied between host and GPU.
"""
import ctypes

import numpy as np

from . import _abi, _arrays, _handed_out, _vectors
from ._dlpack import DeviceMemory
from ._library import check, lib
from ._vectors import address_of, memory_of, precision_of, vector_with

TYPES = _SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def solve_rows(solver, b, x):
    """Solves for each row of b, float32 or float64, and writes x. Returns a Result without x for each row."""
    context = solver.context
    with context.lock:
        if x.dtype == _DOUBLE:
            _fill(context, x)
            return solver._solve_structs(_struct(context, b, address_of(b)), _struct(context, x, address_of(x)))
        right, left = vector_with(context, b, _DOUBLE), _vectors.create(context, x.size)
        solver._aim(0.5)  # leaves room for the rounding of x
        try:
            results = solver._solve_structs(_struct(context, b, _data(right)), _struct(context, x, _data(left)))
        finally:
            solver._aim(1.0)
        check(lib.tess_vector_get(left.pointer, address_of(x), precision_of(x.dtype), memory_of(context)),
              context.pointer)
    for row, result in enumerate(results):
        _handed_out.judge_rounded(solver.matrix, result, x[row], b[row], None)
    return results


def _fill(context, x):
    zeros = _vectors.wrap(context, x.size, address_of(x), (x,))
    check(lib.tess_vector_fill(zeros.pointer, 0.0), context.pointer)


def _data(vector):
    return lib.tess_vector_data(vector.pointer)


def _struct(context, rows, address):
    count, n = rows.shape
    return _abi.tess_columns(n, count, 1, n, address, memory_of(context))


# ---- kept copies of arrays, and whether others are the same ----

_PIECE = 65536  # elements that are compared at a time: other arrays mostly differ early


class HostCopy:
    """A copy of a NumPy array."""

    def __init__(self, _context, array):
        self.array = np.array(array)

    def equals(self, array):
        """Whether an array has the same bits."""
        if array.shape != self.array.shape or array.dtype != self.array.dtype:
            return False
        mine, others = (part.view(np.dtype(f"i{part.dtype.itemsize}")) if part.dtype.kind == "f" else part
                        for part in (self.array, np.ascontiguousarray(array)))
        return all(np.array_equal(mine[k:k + _PIECE], others[k:k + _PIECE]) for k in range(0, mine.size, _PIECE))


class DeviceCopy:
    """
    A copy of memory of a GPU, as a vector of the library. int32 are kept as the float32 numbers that have their bits.
    From 0 to 2^31 - 2^23 these are finite and differ, so that a difference of two is 0 only where they agree; -1 is
    NaN, which never agrees.
    """

    def __init__(self, context, memory):
        self._context, self._dtype = context, memory.dtype
        self._vector = vector_with(context, _as_numbers(memory), _number_type(memory.dtype))
        self.array = DeviceMemory(_data(self._vector) or 64, memory.shape, memory.dtype, context.stream_address or 1,
                                  self._vector)

    def equals(self, memory):
        """Whether memory has the same values; false where either has NaN."""
        if memory.shape != self.array.shape or memory.dtype != self._dtype:
            return False
        numbers, context = _as_numbers(memory), self._context
        other = _vectors.wrap(context, numbers.size, numbers.address, (numbers,), precision_of(numbers.dtype))
        difference, norm = _vectors.create(context, numbers.size), ctypes.c_double()
        pointers = self._vector.pointer, difference.pointer
        check(lib.tess_vector_copy(*pointers), context.pointer)
        check(lib.tess_vector_axpby(-1.0, other.pointer, 1.0, difference.pointer, _abi.TESS_ARITHMETIC_FP64),
              context.pointer)
        check(lib.tess_vector_norm2(difference.pointer, _abi.TESS_ARITHMETIC_FP64, ctypes.byref(norm)),
              context.pointer)
        return norm.value == 0.0

    def on_host(self):
        """The array as NumPy's."""
        numbers = np.empty(self.array.shape, _number_type(self._dtype))
        check(lib.tess_vector_get(self._vector.pointer, _arrays.address(numbers), precision_of(numbers.dtype),
                                  _abi.TESS_MEMORY_HOST), self._context.pointer)
        return numbers.view(self._dtype)


def _number_type(dtype):
    return dtype if dtype.kind == "f" else _SINGLE


def _as_numbers(memory):
    """int32 as float32 numbers of the same bits."""
    if memory.dtype.kind == "f":
        return memory
    return DeviceMemory(memory.address, memory.shape, _SINGLE, memory.stream, memory)
