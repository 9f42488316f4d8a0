# SPDX-License-Identifier: Apache-2.0
"""Operators and preconditioners that are Python functions, for the C library to call."""
import ctypes

import numpy as np

from . import _abi, _complex

_DOUBLE = ctypes.c_double


def _host_view(address, size):
    if not size:
        return np.empty(0)
    return np.frombuffer((_DOUBLE * size).from_address(address), dtype=np.float64)


class _DeviceArray:
    """Memory of a GPU that the library lends for the duration of a call."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "<f8", "version": 3}


def _device_view(address, size):
    try:
        import cupy
        return cupy.asarray(_DeviceArray(address, size))
    except ImportError:
        import torch
        return torch.as_tensor(_DeviceArray(address, size), device="cuda")


def _on_stream(context):
    """The caller's library works on the context's stream while it computes for the library."""
    try:
        import cupy
    except ImportError:
        import torch
        return torch.cuda.stream(torch.cuda.ExternalStream(context.stream_address))
    if hasattr(cupy.cuda.Stream, "from_external"):  # CuPy 14: a context follows the CUDA stream protocol
        return cupy.cuda.Stream.from_external(context)
    return cupy.cuda.ExternalStream(context.stream_address)


def _views(context, size_in, size_out, of_complex=False):
    """A function that applies one of arrays to memory: of so many values, which are complex if it is told so."""
    real = _device_view if context.on_gpu else _host_view

    def view(address, size):
        return _complex.restored(real(address, 2 * size)) if of_complex else real(address, size)

    def call(function, source, target):
        x, y = view(source, size_in), view(target, size_out)
        if context.on_gpu:
            with _on_stream(context):
                y[...] = function(x).reshape(y.shape)
            return
        if size_in:
            x.flags.writeable = False
        value = np.asarray(function(x))
        if value.dtype.kind == "c" and not of_complex:
            raise TypeError("an operator of real numbers returned complex ones; its dtype says which it has")
        y[...] = value.reshape(y.shape)
    return call


def _guarded(raised, function):
    """A C callback's return value: 0, or 1 with the exception in `raised`."""
    def call(*arguments):
        try:
            function(*arguments)
            return 0
        except BaseException as error:
            raised.append(error)
            return 1
    return call


_NO_TRANSPOSE = ("the method needs the transpose of the operator: give rmatvec (LinearOperator(shape, matvec=..., "
                 "rmatvec=...)), or pass the assembled matrix")


def shell_operator(context, shape, matvec, rmatvec, diagonal, error_bound, raised, of_complex=False):
    """The tess_shell_operator of functions of arrays; complex ones are those of the real form."""
    nrows, ncols = shape
    forward, backward = _views(context, ncols, nrows, of_complex), _views(context, nrows, ncols, of_complex)
    shell, field_types = _abi.tess_shell_operator(), dict(_abi.tess_shell_operator._fields_)

    def apply(_user, operation, x, y):
        if operation == _abi.TESS_OP_NONE:
            forward(matvec, x, y)
        elif rmatvec is None:
            raise NotImplementedError(_NO_TRANSPOSE)
        else:
            try:
                backward(rmatvec, x, y)
            except NotImplementedError as error:  # SciPy's operators have the method without having the product
                raise NotImplementedError(_NO_TRANSPOSE) from error

    shell.apply = field_types["apply"](_guarded(raised, apply))
    if diagonal is not None:
        values = np.asarray(diagonal() if callable(diagonal) else diagonal)
        values = np.repeat(values.real, 2) if of_complex else values.astype(np.float64)
        store = _views(context, 0, values.size)
        shell.diagonal = field_types["diagonal"](_guarded(raised, lambda _user, to: store(lambda _x: values, 0, to)))
    if error_bound is not None:
        def bound(_user, x, result):
            view = (_device_view if context.on_gpu else _host_view)(x, 2 * ncols if of_complex else ncols)
            _DOUBLE.from_address(result).value = float(error_bound(_complex.restored(view) if of_complex else view))
        shell.error_bound = field_types["error_bound"](_guarded(raised, bound))
    return shell


def shell_precond(context, size, apply, raised, of_complex=False):
    """A tess_shell_precond of a function z = apply(r)."""
    shell, call = _abi.tess_shell_precond(), _views(context, size, size, of_complex)
    kind = dict(_abi.tess_shell_precond._fields_)["apply"]
    shell.apply = kind(_guarded(raised, lambda _user, r, z: call(apply, r, z)))
    return shell


class Diagonal:
    """A diagonal as preconditioner: an array of n values."""

    def __init__(self, values):
        self.values = values

    def matvec(self, r):
        return self.values * r


def product_of(m, what):
    """The function z = M r of a matrix, a LinearOperator, a solver's set-up or a plain function."""
    if hasattr(m, "matvec"):
        return m.matvec
    if hasattr(m, "solve"):  # such as SciPy's spilu(A)
        return m.solve
    if callable(m) and not hasattr(m, "shape"):
        return m
    if hasattr(m, "__matmul__") and len(getattr(m, "shape", (0, 0))) != 1:
        return lambda r: m @ r
    m = np.asarray(m)
    if m.dtype.kind not in "biufc":  # such as ("ilut", 1e-3, 10)
        raise TypeError(f"{what} is no matrix, LinearOperator or function" +
                        (", nor a name such as 'ilut:1e-3:10'" if what == "precond" else ""))
    if m.ndim == 1:
        return Diagonal(m).matvec
    if m.ndim != 2:
        raise TypeError(f"{what} is no matrix, LinearOperator or function")
    return lambda r: m @ r
