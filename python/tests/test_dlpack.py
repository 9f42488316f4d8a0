# SPDX-License-Identifier: Apache-2.0
"""
Arrays of a GPU by DLPack alone, as libraries lend them that the package does not know. The lender here is a stand-in,
whose "memory of a GPU" is that of the host, and so is the context: test_gpu_arrays.py has the same on a device.
"""
import ctypes
import gc

import numpy as np
import pytest

import tessera_sparse as ts
from tessera_sparse import _arrays, _dlpack

_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))


class Lender:
    """An array with `__dlpack__` and nothing else: no dtype, shape, len or columns."""

    def __init__(self, array, device=(2, 0), offset=0, strides=True):
        self._array, self._device, self._offset, self._has_strides = array, device, offset, strides
        self.streams, self.returned, self._kept = [], 0, []

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        array, ndim = self._array, self._array.ndim
        managed, deleter = _dlpack.ManagedTensor(), _dlpack._Deleter(self._count)
        shape, strides = (ctypes.c_int64 * ndim)(*array.shape), (ctypes.c_int64 * ndim)(
            *[step // array.itemsize for step in array.strides])
        tensor = managed.tensor
        tensor.data, tensor.byte_offset = array.ctypes.data - self._offset, self._offset
        tensor.device_type, tensor.device_id, tensor.ndim = *self._device, ndim
        tensor.code, tensor.bits, tensor.lanes = {"i": 0, "f": 2, "c": 5}[array.dtype.kind], 8 * array.itemsize, 1
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        if self._has_strides:
            tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        managed.deleter = ctypes.cast(deleter, ctypes.c_void_p)
        self._kept += [managed, deleter, shape, strides]
        self.capsule = _new_capsule(ctypes.addressof(managed), b"dltensor", None)
        return self.capsule

    def _count(self, address):
        assert address in [ctypes.addressof(kept) for kept in self._kept if isinstance(kept, _dlpack.ManagedTensor)]
        self.returned += 1

    def is_back(self):
        gc.collect()
        return self.returned == len(self.streams)


class Own(np.ndarray):
    """What CuPy or PyTorch lends for results: NumPy's array with an address of a GPU."""

    @property
    def __cuda_array_interface__(self):
        return dict(self.__array_interface__, stream=1)


@pytest.fixture
def context(monkeypatch):
    """A context of the host that counts as one of a GPU, whose arrays then go by their device addresses."""
    context = ts.Context(device="cpu")
    context.on_gpu, context._stream = True, 77
    monkeypatch.setattr(_arrays, "empty_like", lambda _array, shape: np.empty(shape).view(Own))
    monkeypatch.setattr(_arrays, "on_device", lambda array, ask=_arrays.on_device: ask(array) or isinstance(array, Own))
    return context


def matrix_of(context):
    A = ts.Matrix.gallery("laplace2d", 12, context=context)
    return A, np.random.default_rng(5).standard_normal(A.shape[0])


@pytest.mark.parametrize("array", [np.arange(6.0), np.arange(6.0).reshape(2, 3), np.arange(4, dtype=np.int32),
                                   np.arange(4), np.empty(0), np.ones((3, 1))[:, ::1]])
@pytest.mark.parametrize("device,offset,strides", [((2, 1), 0, True), ((13, 0), 8, False)])
def test_memory_is_read_in_place_and_given_back_once(context, array, device, offset, strides):
    lender = Lender(array, device, offset, strides)
    assert _arrays.on_device(lender) and _arrays.current_stream(lender) == (0, device[1])
    lent = _arrays.imported(lender, context)
    assert lender.streams == [77] and (lent.shape, lent.dtype) == (array.shape, array.dtype)
    assert _arrays.device_address(lent) == array.ctypes.data
    assert _is_valid(lender.capsule, b"used_dltensor")
    view = lent.reshape(-1)
    assert view.shape == (array.size,) and _arrays.imported(view, context) is view
    del lent
    assert not lender.is_back()  # the view holds it
    del view
    assert lender.is_back() and lender.returned == 1


def test_memory_is_given_back_after_the_work_on_it(context, monkeypatch):
    events, lender = [], Lender(np.ones(3))
    monkeypatch.setattr(_dlpack.lib, "tess_context_synchronize", lambda _context: events.append("waited"))
    monkeypatch.setattr(lender, "_count", lambda _address: events.append("returned"))
    lent = _arrays.imported(lender, context)
    assert events == []
    del lent
    assert events == ["waited", "returned"]


@pytest.mark.parametrize("array", [np.ones(4, dtype=complex), np.ones((3, 3)).T[:2], np.ones(8)[::2],
                                   np.ones(3, dtype=np.int16)])
def test_what_cannot_be_read_in_place_is_refused_and_given_back(context, array):
    lender = Lender(array)
    with pytest.raises(TypeError, match="contiguous"):
        _arrays.to_double(lender, context)
    assert lender.is_back() and lender.returned == 1
    indices = Lender(np.ones(4, dtype=np.float32))
    with pytest.raises(TypeError, match="contiguous float64"):
        _arrays.to_double(indices, context)
    assert indices.is_back()


def test_products_and_solves(context):
    A, b = matrix_of(context)
    lent, start = Lender(b), Lender(np.zeros(b.size))
    assert np.array_equal(A @ lent, ts.Matrix(A, context=ts.Context(device="cpu")) @ b)
    solver = ts.Solver(A, solver="cg", rtol=1e-10)
    for result in (solver.solve(lent), solver.solve(lent, start), solver.solve(Lender(b.reshape(-1, 1)))):
        assert result.verified and isinstance(result.x, Own) and result.x.size == b.size
    norm = A.residual(lent, result.x)[0]
    assert norm <= 1.001e-10 * np.linalg.norm(b)
    x, info = ts.cg(A, lent, start, rtol=1e-10)
    assert info == 0 and np.linalg.norm(A.to_scipy() @ x - b) <= 1.001e-10 * np.linalg.norm(b)
    assert lent.is_back() and start.is_back() and lent.returned >= 5 and set(lent.streams) == {77}
    with pytest.raises(TypeError, match="one column at a time"):
        solver.solve(Lender(np.ones((b.size, 2))))


def test_a_matrix_holds_its_arrays(context, monkeypatch):
    parts = ts.Matrix.gallery("laplace2d", 12, context=ts.Context(device="cpu")).csr()
    lenders = [Lender(part) for part in parts]
    monkeypatch.setattr("tessera_sparse._matrix._abi.TESS_MEMORY_DEVICE", 0)  # the host's memory, where the context is
    matrix = ts.Matrix((*lenders, (144, 144)), context=context)
    assert matrix.borrowed and not any(lender.is_back() for lender in lenders)
    values = Lender(2.0 * parts[0])
    matrix.update_values(values)
    assert np.array_equal(matrix.csr()[0], 2.0 * parts[0])
    b = np.ones(144)
    assert np.allclose(matrix @ Lender(b), 2.0 * (ts.Matrix((*parts, (144, 144))) @ b))
    del matrix
    assert all(lender.is_back() and lender.returned == 1 for lender in lenders) and values.is_back()


def test_floats_are_no_indices(context):
    data, indices, indptr = ts.Matrix.gallery("laplace2d", 5, context=ts.Context(device="cpu")).csr()
    with pytest.raises(TypeError, match="indices"):
        ts.Matrix((Lender(data), Lender(indices.astype(float)), Lender(indptr), (25, 25)), context=context)


def test_a_context_of_the_host_refuses():
    A, b = matrix_of(ts.Context(device="cpu"))
    for act in (lambda lent: A @ lent, lambda lent: ts.Solver(A).solve(lent), lambda lent: A.update_values(lent)):
        lender = Lender(b)
        with pytest.raises(TypeError, match="memory of a GPU"):
            act(lender)
        assert lender.streams == [] and lender.returned == 0


def test_arrays_of_the_host_are_read_by_numpy():
    A, b = matrix_of(ts.Context(device="cpu"))

    class OnHost:
        def __dlpack__(self, **keywords):
            return b.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return b.__dlpack_device__()

    assert not _arrays.on_device(OnHost()) and np.array_equal(A @ OnHost(), A @ b)
