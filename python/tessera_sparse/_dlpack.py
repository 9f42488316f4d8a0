# SPDX-License-Identifier: Apache-2.0
"""Arrays of a GPU that another library lends by DLPack: read in place, and given back once."""
import ctypes
import math
import weakref

import numpy as np

from ._finalizers import finalize
from ._library import lib

# kDLCUDA, kDLCUDAManaged; and what the library reads of DLPack's (code, bits): 0 signed integers, 2 floating point.
_DEVICES = (2, 13)
_DTYPES = {(2, 64): "<f8", (2, 32): "<f4", (2, 16): "<f2", (0, 32): "<i4", (0, 64): "<i8"}
_NAME, _USED = b"dltensor", b"used_dltensor"  # a capsule keeps the pointer to its name

_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi))
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class ManagedTensor(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


def device_of(array):
    """Number of the GPU whose memory an array offers by DLPack; None: it offers none of a GPU."""
    ask = getattr(array, "__dlpack_device__", None)
    if ask is None or not hasattr(array, "__dlpack__"):
        return None
    kind, index = ask()
    return int(index) if int(kind) in _DEVICES else None


def _give_back(address, context):
    """Calls the deleter, after the context's work: kernels may still read. The lender's stream does not wait for it."""
    with context.lock:
        finalize(lib.tess_context_synchronize, context.pointer)
    deleter = ManagedTensor.from_address(address).deleter
    if deleter:
        finalize(_Deleter(deleter), address)


def _is_contiguous(tensor, shape):
    if not tensor.strides or 0 in shape:
        return True
    step = 1
    for k in reversed(range(tensor.ndim)):
        if shape[k] != 1 and tensor.strides[k] != step:
            return False
        step *= shape[k]
    return True


class DeviceMemory:
    """Contiguous memory of a GPU at an address, written by work on a stream; `owner` keeps it."""

    def __init__(self, address, shape, dtype, stream, owner=None):
        self.shape, self.dtype, self._owner = tuple(shape), np.dtype(dtype), owner
        self.__cuda_array_interface__ = {"data": (address, False), "shape": self.shape, "typestr": self.dtype.str,
                                         "version": 3, "stream": stream}

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def address(self):
        return self.__cuda_array_interface__["data"][0]

    @property
    def stream(self):
        return self.__cuda_array_interface__["stream"]

    def reshape(self, *shape):
        """A view; -1 alone or a whole shape."""
        return DeviceMemory(self.address, (self.size,) if shape == (-1,) else shape, self.dtype, self.stream, self)

    def __getitem__(self, place):
        """The part at a place in the first dimensions, which lies in one piece."""
        place = place if isinstance(place, tuple) else (place,)
        if not all(isinstance(k, int) and 0 <= k < size for k, size in zip(place, self.shape)):
            raise TypeError("arrays of an unknown library have no columns here: give one column at a time, or an array "
                            "of CuPy or PyTorch (from_dlpack)")
        rest, before = self.shape[len(place):], 0
        for k, size in zip(place, self.shape):
            before = before * size + k
        return DeviceMemory(self.address + before * math.prod(rest) * self.dtype.itemsize, rest, self.dtype,
                            self.stream, self)


class DeviceArray(DeviceMemory):
    """
    The memory behind `array.__dlpack__`, for a context. The lender makes the context's stream wait for its own work.
    It gets the memory back when this object goes, and the views that `reshape` made.
    """

    def __init__(self, array, context):
        stream = context.stream_address or 1  # 1: the legacy default stream; DLPack does not allow 0 for it
        capsule = array.__dlpack__(stream=stream)
        address = _pointer_of(capsule, _NAME)
        _set_name(capsule, _USED)  # the capsule no longer calls the deleter: it is ours to call
        weakref.finalize(self, _give_back, address, context)
        tensor = ManagedTensor.from_address(address).tensor
        shape = tuple(tensor.shape[:tensor.ndim]) if tensor.ndim else ()
        word = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
        if tensor.device_type not in _DEVICES or word is None or not _is_contiguous(tensor, shape):
            raise TypeError("an array by DLPack must be contiguous on a CUDA GPU, with elements of type float64, or "
                            "int32 or int64 for indices")
        super().__init__((tensor.data or 0) + tensor.byte_offset, shape, word, stream)
