# SPDX-License-Identifier: Apache-2.0
"""Host or GPU for one solve, by the size of A. No GPU is needed: `Gpu` is a context of the host in place of one."""
import ctypes

import numpy as np
import pytest

import tessera_sparse as ts
from tessera_sparse import _abi, _context

scipy_sparse = pytest.importorskip("scipy.sparse")
SMALL, LARGE = 100, 2000  # rows


def laplacian(n):
    return scipy_sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")


class Gpu(ts.Context):
    """What device="auto" gives where there is a GPU; asked[0]: how often one was started."""

    asked = [0]

    def __init__(self, device="auto", **options):
        super().__init__("cpu", **options)
        self.would_be_gpu = device != "cpu"
        self.asked[0] += self.would_be_gpu


class Library:
    """The library, with an advice as on a machine with a GPU."""

    def __init__(self, lib):
        self._lib, self.calls = lib, []

    def __getattr__(self, name):
        return getattr(self._lib, name)

    def tess_advise_device(self, nrows, nnz, started, device, why):
        self.calls.append((nrows, nnz, bool(started)))
        device._obj.value = _abi.TESS_DEVICE_CPU if nnz < 3 * SMALL else _abi.TESS_DEVICE_GPU
        return 0


@pytest.fixture
def library(monkeypatch):
    made = Library(_context.lib)
    monkeypatch.setattr(_context, "lib", made)
    monkeypatch.setattr(_context, "Context", Gpu)
    monkeypatch.setattr(_context, "_contexts", {})
    monkeypatch.setattr(Gpu, "asked", [0])
    return made


def test_names_of_a_gpu_are_those_of_the_tool():
    backend = _context.lib.tess_gpu_backend().decode()
    for name in ("gpu", "cuda", "hip"):
        if name not in ("gpu", backend) and backend in ("cuda", "hip"):
            with pytest.raises(ValueError, match=f"has the backend {backend}"):
                ts.Context(device=name)
        elif not _context.lib.tess_has_gpu_backend():
            with pytest.raises(ts.TesseraError, match="no GPU backend"):
                ts.Context(device=name)
    with pytest.raises(ValueError, match="is none of: auto, cpu, gpu"):
        ts.Context(device="gpuu")


def test_without_a_gpu_nothing_is_chosen():
    device = ctypes.c_int(-1)
    assert _context.lib.tess_advise_device(10, 28, 0, ctypes.byref(device), None) == 0
    if not _context.lib.tess_has_gpu_backend():
        assert device.value == _abi.TESS_DEVICE_AUTO
        assert ts.Solver(laplacian(10)).context is ts.default_context()


def test_a_small_matrix_starts_no_gpu(library):
    A = laplacian(SMALL)
    assert ts.solve(A, np.ones(SMALL), rtol=1e-10).verified and ts.cg(A, np.ones(SMALL), rtol=1e-8)[1] == 0
    assert library.calls == [(SMALL, A.nnz, False)] * 2 and Gpu.asked == [0]
    for given in (A.toarray(), (A.data, A.indices, A.indptr), A.tocoo()):
        assert not ts.Solver(given).context.would_be_gpu and library.calls[-1] == (SMALL, A.nnz, False)
    assert Gpu.asked == [0]


def test_a_large_matrix_and_a_matrix_for_many_uses_take_it(library):
    assert ts.Solver(laplacian(LARGE)).context.would_be_gpu and Gpu.asked == [1]
    assert ts.Matrix(laplacian(SMALL)).context is ts.default_context() and Gpu.asked == [1]
    assert len(library.calls) == 1


def test_a_start_counts_once(library):
    started = ts.Solver(laplacian(LARGE)).context
    started.on_gpu = True
    ts.Solver(laplacian(SMALL))
    assert [call[2] for call in library.calls] == [False, True]


def test_an_explicit_context_decides_alone(library):
    context = ts.Context(device="cpu")
    assert ts.Solver(laplacian(LARGE), context=context).context is context
    with ts.use_context(context):
        assert ts.Solver(laplacian(LARGE)).context is context
    assert library.calls == [] and Gpu.asked == [0]


def test_a_matrix_goes_where_its_preconditioner_is(library):
    A, b = laplacian(LARGE), np.ones(LARGE)
    M = ts.Preconditioner(laplacian(SMALL), "jacobi")
    assert not M.context.would_be_gpu
    M = ts.Preconditioner(ts.Matrix(A, context=M.context), "ic0")
    assert ts.Solver(A, solver="cg", precond=M).context is M.context
    assert ts.cg(A, b, M=M, rtol=1e-8)[1] == 0 and Gpu.asked == [0]
