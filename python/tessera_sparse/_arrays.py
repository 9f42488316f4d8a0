# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy, CuPy, PyTorch and JAX, where they are: addresses, and results in the caller's library."""
import functools
import sys

import numpy as np

from . import _dlpack

# What the library reads as it is; all other real types are converted to FP64.
PRECISIONS = {"<f8": 0, "<f4": 1, "<f2": 3}
_DOUBLE = np.dtype(np.float64)
COMPLEX = "complex numbers are not taken here; solve, Solver, verify and the functions of SciPy take them"


@functools.lru_cache(256)
def _owner_of_type(kind):
    module = kind.__module__.partition(".")[0]
    return {"jaxlib": "jax", "cupyx": "cupy"}.get(module, module) if module in (
        "cupy", "cupyx", "torch", "jax", "jaxlib") else "numpy"


def owner_of(array):
    """"cupy", "torch", "jax", or "numpy" for all that NumPy can convert."""
    return _owner_of_type(type(array))


def on_device(array):
    """Whether an array is in the memory of a GPU."""
    library = owner_of(array)
    if library == "cupy":
        return True
    if library == "torch":
        return array.is_cuda
    if library == "jax":
        try:
            return array.device.platform == "gpu"
        except AttributeError:  # traced, or over several devices
            return False
    if library != "numpy" or isinstance(array, np.ndarray):
        return False
    return hasattr(array, "__cuda_array_interface__") or _dlpack.device_of(array) is not None


def imported(array, context):
    """An array as it is; but of an unknown library that has only DLPack, what it lends to a context of a GPU."""
    if array is None or owner_of(array) != "numpy" or isinstance(array, np.ndarray) or not context.on_gpu:
        return array
    if hasattr(array, "__cuda_array_interface__") or _dlpack.device_of(array) is None:
        return array
    return _dlpack.DeviceArray(array, context)


def refuse_complex(dtype):
    if np.dtype(dtype).kind == "c":
        raise TypeError(COMPLEX)


def _refuse_unread(array, what):
    """Masked values and sparse arrays, which NumPy's conversion loses or does not read."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        count = int(np.ma.count_masked(array))
        raise ValueError(f"{what} has {count} masked value{'' if count == 1 else 's'}, and the library takes no mask: "
                         "fill them, as its filled(0.0) does, or leave out their rows")
    if hasattr(array, "toarray") or "sparse" in str(getattr(array, "layout", "")):
        dense = "to_dense" if hasattr(array, "to_dense") else "toarray"
        raise TypeError(f"{what} is sparse; wanted is a dense array, as its {dense}() returns")


def host_array(array, what, take_complex=False):
    """A NumPy array of real numbers, or also of complex ones; without a copy where it can be."""
    library = owner_of(array)
    if type(array) is not np.ndarray:
        _refuse_unread(array, what)
    if library == "torch":
        array = array.detach()
        if array.dtype.is_complex and not take_complex:
            raise TypeError(COMPLEX)
        array = (array.float() if "bfloat16" in str(array.dtype) else array).numpy()
    elif library == "jax":
        array = np.asarray(array)
        array = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    elif hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray):
        if _dlpack.device_of(array) is not None:
            raise TypeError(f"{what} is in the memory of a GPU, and the context computes on the host. Copy it, or give "
                            "a context of the GPU")
        array = np.from_dlpack(array)
    array = np.asarray(array)
    if array.dtype.kind == "c" and take_complex:
        return array
    refuse_complex(array.dtype)
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise TypeError(f"{what} has elements of type {array.dtype}; wanted are real numbers")
    return array


def real_dtype(*dtypes):
    """float32 if all types are, else float64: as SciPy's iterative solvers have it."""
    return np.dtype(np.float32) if all(d == np.float32 for d in dtypes) else _DOUBLE


def lost_in_double(array):
    """What each value of an array loses when it is converted to FP64: long doubles, large integers. None: nothing."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf" or array.dtype.itemsize < 8 or (
            array.dtype == np.float64) or array.size == 0:
        return None
    with np.errstate(all="ignore"):
        lost = np.abs(array.astype(np.longdouble) - array.astype(np.float64))
    return lost if lost.any() else None  # NaN is something


def norm_of_lost(lost):
    """The 2-norm of `lost_in_double`, rounded up; infinite: unknown."""
    if lost is None:
        return 0.0
    with np.errstate(all="ignore"):
        norm = np.sqrt(np.sum(lost * lost))
    return float(norm) * (1.0 + 1e-10) if norm < np.inf else float("inf")  # NaN: also unknown


def to_host(array):
    """A NumPy array of an array of any library, copied from a GPU."""
    if on_device(array):
        array = array.get() if owner_of(array) == "cupy" else array.cpu() if owner_of(array) == "torch" else array
    return host_array(array, "an array", take_complex=True)


def dtype_of(array):
    """The NumPy type of an array of any library; None if it has none."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return None
    if owner_of(array) == "torch":
        name = str(dtype).rpartition(".")[2]
        return np.dtype({"bfloat16": "float32"}.get(name, name))
    try:
        return np.dtype(dtype)
    except TypeError:  # types of an unknown library
        return None


def address(array):
    """Where a NumPy array lies."""
    return array.__array_interface__["data"][0]


def device_address(array):
    """Where a GPU array lies. The interface that all libraries have takes microseconds to make: CuPy's own is asked."""
    if owner_of(array) == "cupy":
        return array.data.ptr
    return array.__cuda_array_interface__["data"][0]


def current_stream(array):
    """(stream, number of the device) that the caller of a GPU array works on."""
    library = owner_of(array)
    if library == "torch":
        torch = sys.modules["torch"]
        index = array.device.index or 0
        return torch.cuda.current_stream(index).cuda_stream or 1, index
    if library == "cupy":
        cupy = sys.modules["cupy"]
        return cupy.cuda.get_current_stream().ptr or 1, array.data.device_id
    if library == "jax":
        array.block_until_ready()
        return 0, int(array.device.local_hardware_id or 0)
    if not hasattr(array, "__cuda_array_interface__"):
        return 0, _dlpack.device_of(array)  # the lender waits for itself when it lends (_dlpack.py)
    return array.__cuda_array_interface__.get("stream") or 1, -1


def wait_for(array, stream):
    """Waits for what the caller's stream does with an array, if a context works on another stream. Returns theirs."""
    theirs, _ = current_stream(array)
    if theirs == stream or theirs == 0:
        return theirs
    library = owner_of(array)
    if library == "torch":
        sys.modules["torch"].cuda.current_stream(array.device).synchronize()
    elif library == "cupy":
        sys.modules["cupy"].cuda.get_current_stream().synchronize()
    return theirs


def to_double(array, context):
    """A contiguous FP64 array of the same library, on the same GPU; of an unknown library what it lends."""
    library = owner_of(array)
    if library == "torch":
        if array.dtype.is_complex:
            raise TypeError(COMPLEX)
        return array.detach().double().contiguous()
    if library == "cupy":
        if array.dtype.kind == "c":
            raise TypeError(COMPLEX)
        if array.dtype == _DOUBLE and array.flags.c_contiguous:
            return array
        return sys.modules["cupy"].ascontiguousarray(array, dtype="float64")
    if library == "jax":
        if str(array.dtype) != "float64":
            raise TypeError("JAX arrays on a GPU must be float64: set jax.config.update('jax_enable_x64', True)")
        return array
    array = imported(array, context)
    interface = array.__cuda_array_interface__
    if interface["typestr"] != "<f8" or interface.get("strides"):
        raise TypeError("a GPU array of an unknown library must be contiguous float64")
    return array


def empty_like(array, shape):
    """An FP64 array for results, which the library may write to. JAX's cannot be written: CuPy or Torch lend one."""
    library = owner_of(array)
    if library == "torch":
        return array.new_empty(shape, dtype=sys.modules["torch"].float64)
    try:
        import cupy
        return cupy.empty(shape)
    except ImportError:
        import torch
        return torch.empty(shape, dtype=torch.float64, device="cuda")


def in_owner_of(like, array, dtype):
    """A result as an array of the library of `like`, of a NumPy type. `array`: of NumPy, or on the same GPU."""
    library = owner_of(like)
    if library == "torch":
        torch = sys.modules["torch"]
        result = torch.from_numpy(array) if isinstance(array, np.ndarray) else array
        return result.to(device=like.device, dtype=getattr(torch, np.dtype(dtype).name))
    if library == "jax":
        import jax
        if isinstance(array, np.ndarray):
            return jax.numpy.asarray(array.astype(dtype, copy=False))  # float32 unless JAX is told to have float64
        return jax.dlpack.from_dlpack(array)
    return array if array.dtype == dtype else array.astype(dtype, copy=False)
