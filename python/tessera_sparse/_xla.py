# SPDX-License-Identifier: Apache-2.0
"""
Handlers of XLA's foreign function interface (python/xla.c): XLA calls them with the addresses of its arrays. `handlers`
has their names by platform, `reasons` why a platform has none.
"""
import ctypes
import os

import jax
import numpy as np

from ._dlpack import DeviceMemory
from ._library import lib

_BUFFERS, _ERROR_BYTES = 5, 8192
_TYPES = {4: "<i4", 5: "<i8", 11: "<f4", 12: "<f8"}  # of XLA_FFI_DataType


class _Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int64),
                ("type", ctypes.c_int64)]


class _Call(ctypes.Structure):
    """tessera_xla_call of xla.c."""
    _fields_ = [("buffers", _Buffer * _BUFFERS), ("request", ctypes.c_void_p), ("request_length", ctypes.c_int64),
                ("stream", ctypes.c_void_p), ("device", ctypes.c_int64), ("on_gpu", ctypes.c_int64),
                ("error", ctypes.c_char * _ERROR_BYTES)]


_Function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_SYMBOLS = {"cpu": "tessera_xla_host", "cuda": "tessera_xla_cuda"}
_PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}  # as JAX's registration names them

handlers: dict = {}
reasons: dict = {}
_kept: list = []  # what XLA may call as long as the process lives


def _array(buffer, stream):
    """The buffer as an array: of NumPy, or memory of a GPU whose work is on a stream."""
    shape, dtype = tuple(buffer.dims[:buffer.rank]), np.dtype(_TYPES[buffer.type])
    if stream is not None:
        return DeviceMemory(buffer.data or 0, shape, dtype, stream)
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.empty(shape, dtype)
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(buffer.data), dtype).reshape(shape)


def _function(solve, failed):
    @_Function
    def called(address):
        call = _Call.from_address(address)
        try:
            place = (call.stream or 1, call.device) if call.on_gpu else None  # 1: CUDA's default stream
            arrays = [_array(buffer, place and place[0]) for buffer in call.buffers]
            solve(ctypes.string_at(call.request, call.request_length).decode(), place, *arrays)
            return 0
        except BaseException as error:
            text = (str(error) or type(error).__name__).encode()[:_ERROR_BYTES - 1]
            call.error = text
            failed(error)
            return 1
    return called


def _load(solve, failed):
    path = os.path.join(os.path.dirname(__file__), "libtessera_xla.so")
    if not hasattr(jax, "ffi"):
        raise OSError(f"JAX {jax.__version__} has no jax.ffi")
    library = ctypes.CDLL(path)
    library.tessera_xla_call_bytes.restype = ctypes.c_int64
    if library.tessera_xla_call_bytes() != ctypes.sizeof(_Call):
        raise OSError(f"{path} is of another version of this package")
    function = _function(solve, failed)
    library.tessera_xla_set.argtypes = [_Function]
    library.tessera_xla_set(function)
    _kept.extend([library, function])
    return library


def register(solve, failed):
    """
    Registers what can be. `solve(request, place, data, indices, indptr, b, x)` writes x; place is None on the host,
    (stream, number of the device) on a GPU. `failed(error)` hears of exceptions, whose text XLA takes along.
    """
    try:
        library = _load(solve, failed)
    except OSError as error:
        reasons.update(dict.fromkeys(_SYMBOLS, str(error)))
        return
    for platform, symbol in _SYMBOLS.items():
        if platform == "cuda" and lib.tess_gpu_backend().decode() != "cuda":
            reasons[platform] = "this build of libtessera.so has no CUDA code"
            continue
        try:
            jax.ffi.register_ffi_target(symbol, jax.ffi.pycapsule(getattr(library, symbol)), _PLATFORMS[platform])
        except Exception as error:  # an interface of XLA that xla.c was not compiled for
            reasons[platform] = str(error)
        else:
            handlers[platform] = symbol
