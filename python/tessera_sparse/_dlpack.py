# SPDX-License-Identifier: Apache-2.0
"""Arrays of a GPU that another library lends by DLPack: read in place, and given back once."""
import ctypes
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


class DeviceArray:
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
        self.shape = tuple(tensor.shape[:tensor.ndim]) if tensor.ndim else ()
        word = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
        if tensor.device_type not in _DEVICES or word is None or not _is_contiguous(tensor, self.shape):
            raise TypeError("an array by DLPack must be contiguous on a CUDA GPU, with elements of type float64, or "
                            "int32 or int64 for indices")
        self.dtype, self._owner = np.dtype(word), None
        self._describe((tensor.data or 0) + tensor.byte_offset, stream)

    def _describe(self, address, stream):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": self.shape, "typestr": self.dtype.str,
                                         "version": 3, "stream": stream}

    @property
    def ndim(self):
        return len(self.shape)

    def reshape(self, *shape):
        """A view; -1 alone or a whole shape."""
        view = DeviceArray.__new__(DeviceArray)
        size = int(np.prod(self.shape))
        view.shape, view.dtype, view._owner = ((size,) if shape == (-1,) else shape), self.dtype, self
        interface = self.__cuda_array_interface__
        view._describe(interface["data"][0], interface["stream"])
        return view

    def __getitem__(self, _key):
        raise TypeError("arrays of an unknown library have no columns here: give one column at a time, or an array of "
                        "CuPy or PyTorch (from_dlpack)")
