# SPDX-License-Identifier: Apache-2.0
"""Contexts: a device, its stream, threads and log."""
import ctypes
import os
import threading
import weakref
from contextlib import contextmanager

from . import _abi
from ._errors import error_of
from ._library import Handle, check, enum_name, enum_values, lib, new_struct

_LOG_LEVELS = {"none": 0, "warn": 1, "info": 2, "debug": 3}


def choose(enum, value, what):
    """The number of an enum's name; its hint has the names that there are."""
    names = enum_values(enum)
    text = str(value).replace("_", "-").lower()
    if text not in names:
        raise ValueError(f"{what}={value!r} is none of: {', '.join(names)}")
    return names[text]


_all: "weakref.WeakSet[Context]" = weakref.WeakSet()


class Context:
    """
    A device to compute on. Most programs need none: a default one is made when it is first needed.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu", "cuda", "hip"}
        "gpu" is the backend of this build of the library, "cuda" or "hip". "auto" takes it if this machine has such a
        GPU.
    device_index : int
        Number of the GPU; -1: the current one.
    stream : int
        Address of a cudaStream_t; 0: the context makes its own.
    threads : int
        Threads of the host; 0: OMP_NUM_THREADS, else the processors that this process may use.
    log : callable, optional
        Called with (level, message), such as ("info", "...").
    log_level : {"none", "warn", "info", "debug"}

    Examples
    --------
    >>> import tessera_sparse as ts
    >>> context = ts.Context(device="cpu", threads=1)
    >>> context.device, context.threads
    ('cpu', 1)
    """

    def __init__(self, device="auto", *, device_index=-1, stream=0, threads=0, log=None, log_level="info"):
        options, pointer = new_struct(_abi.tess_context_options), ctypes.c_void_p()
        backend = lib.tess_gpu_backend().decode()
        if device in ("cuda", "hip") and device != backend and backend in ("cuda", "hip"):
            raise ValueError(f"device={device!r}: this build of the library has the backend {backend}")
        options.device = choose("tess_device", "gpu" if device in ("cuda", "hip") else device, "device")
        options.device_index, options.stream, options.threads = device_index, stream or None, threads
        options.first_number, keep = 0, []  # rows in messages
        if log is not None:
            if log_level not in _LOG_LEVELS:
                raise ValueError(f"log_level={log_level!r} is none of: {', '.join(_LOG_LEVELS)}")
            levels = {number: name for name, number in _LOG_LEVELS.items()}
            keep.append(_abi.tess_log_function(lambda _user, level, text: log(levels.get(level, "?"),
                                                                              text.decode(errors="replace"))))
            options.log, options.log_level = keep[0], _LOG_LEVELS[log_level]
        status = lib.tess_context_create(ctypes.byref(options), ctypes.byref(pointer))
        if status and options.device == _abi.TESS_DEVICE_GPU:
            text = "this build of the library has no GPU backend (docs/python/install.md)"
            raise error_of(status, lib.tess_status_name(status).decode(), lib.tess_status_text(status).decode(),
                           "look at nvidia-smi; device='cpu' works without" if lib.tess_has_gpu_backend() else text)
        check(status)
        self.handle = Handle(pointer.value, lib.tess_context_destroy, keep=keep)
        self.pointer = pointer.value
        self.lock = threading.RLock()  # one thread at a time may use a context
        self.watched, self.answers = False, None  # _interrupts.py
        _all.add(self)
        self.on_gpu = lib.tess_context_device(self.pointer) == _abi.TESS_DEVICE_GPU
        self._stream = lib.tess_context_stream(self.pointer) or 0

    @property
    def device(self):
        """"cpu" or "gpu"."""
        return enum_name("tess_device", lib.tess_context_device(self.pointer))

    @property
    def device_name(self):
        """Name of the device for people."""
        return lib.tess_context_device_name(self.pointer).decode()

    @property
    def threads(self):
        """Threads of the host's kernels."""
        return lib.tess_context_threads(self.pointer)

    @property
    def stream_address(self):
        """Address of the stream in use; 0 on the host."""
        return self._stream

    def __cuda_stream__(self):
        """(version, address of the stream) of the CUDA stream protocol, which CuPy, PyTorch and cuda.core read."""
        return 0, self.stream_address

    @property
    def peak_bytes(self):
        """The most bytes that the context ever used on its device."""
        return lib.tess_context_peak_bytes(self.pointer)

    def synchronize(self):
        """Waits for all work of the device."""
        with self.lock:
            check(lib.tess_context_synchronize(self.pointer), self.pointer)

    def trim(self):
        """Frees memory that the context keeps for later use."""
        with self.lock:
            check(lib.tess_context_trim(self.pointer), self.pointer)

    def __repr__(self):
        return f"<tessera_sparse.Context: {self.device_name}>"


_lock = threading.Lock()
_contexts: dict = {}
_default = threading.local()


def _after_fork():
    """The threads that hold locks are not in the child."""
    global _lock
    _lock = threading.Lock()
    for context in _all:
        context.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def default_context(device="auto", stream=0, device_index=-1):
    """The context that is used where none is given: one for each device and stream of the process."""
    chosen = getattr(_default, "context", None)
    if chosen is not None and device == "auto":
        return chosen
    key = (device, stream, device_index)
    with _lock:
        if key not in _contexts:
            _contexts[key] = Context(device, stream=stream, device_index=device_index)
        return _contexts[key]


def context_of_size(nrows, nnz):
    """The default context; where that could be on a GPU, the host's for a matrix that takes less time there."""
    device = ctypes.c_int()
    if getattr(_default, "context", None) is None:
        started = any(context.on_gpu for context in _all)
        check(lib.tess_advise_device(nrows, nnz, started, ctypes.byref(device), None))
    return default_context("cpu" if device.value == _abi.TESS_DEVICE_CPU else "auto")


@contextmanager
def use_context(context):
    """
    Makes a context the default one, within a `with` block, in this thread.

    Examples
    --------
    >>> import tessera_sparse as ts
    >>> with ts.use_context(ts.Context(device="cpu", threads=1)):
    ...     ts.Matrix([[2.0, 1.0], [1.0, 3.0]]).context.threads
    1
    """
    before = getattr(_default, "context", None)
    _default.context = context
    try:
        yield context
    finally:
        _default.context = before
