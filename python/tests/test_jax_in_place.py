# SPDX-License-Identifier: Apache-2.0
"""
JAX by XLA's foreign function interface: arrays are read and written where they are, a set-up is only used for a matrix
of the same values, and errors come out. The memory of a GPU is here that of the host, of a context that counts as one
of a GPU; test_gpu_arrays.py has the same on a device.
"""
import gc
import json
import time

import numpy as np
import pytest

import tessera_sparse as ts
from tessera_sparse import _dlpack, _vectors

jax = pytest.importorskip("jax")
scipy_sparse = pytest.importorskip("scipy.sparse")
tj = pytest.importorskip("tessera_sparse.jax")
from tessera_sparse import _in_place, _xla  # noqa: E402: they need JAX

jax.config.update("jax_enable_x64", True)
N = 30


def system(dtype=np.float64):
    rng = np.random.default_rng(4)
    dense = 4 * np.eye(N) + rng.random((N, N)) * (rng.random((N, N)) > 0.8)
    A = scipy_sparse.csr_array(dense.astype(dtype))
    return A.toarray().astype(np.float64), A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)


@pytest.fixture(params=["in place", "by callback"])
def way(request, monkeypatch):
    """Both ways of calling the library; JAX compiles anew for each."""
    if request.param == "by callback":
        monkeypatch.setattr(_xla, "handlers", {})
    jax.clear_caches()
    yield request.param
    jax.clear_caches()


def test_the_package_has_the_handler():
    assert _xla.handlers["cpu"] and ts.jax.paths()["cpu"] == "in place"
    if ts._lib.tess_gpu_backend() != b"cuda":
        assert "no CUDA code" in ts.jax.paths()["cuda"]


def test_a_handler_that_is_missing_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(_xla, "handlers", {})
    monkeypatch.setattr(_xla, "reasons", {})
    monkeypatch.setattr(_xla, "__file__", str(tmp_path / "_xla.py"))
    _xla.register(None, None)
    assert not _xla.handlers and "libtessera_xla.so" in _xla.reasons["cpu"] and _xla.reasons.keys() == {"cpu", "cuda"}


def test_a_registration_that_fails_says_why(monkeypatch):
    def refuse(*_arguments):
        raise RuntimeError("INVALID_ARGUMENT: version")
    monkeypatch.setattr(_xla, "handlers", {})
    monkeypatch.setattr(_xla, "reasons", {})
    monkeypatch.setattr(_xla, "_load", lambda *_functions: _xla._kept[0])
    monkeypatch.setattr(jax.ffi, "register_ffi_target", refuse)
    _xla.register(None, None)
    assert not _xla.handlers and _xla.reasons["cpu"] == "INVALID_ARGUMENT: version"


def test_arrays_are_read_where_they_are(monkeypatch):
    _, data, indices, indptr = system()
    b = jax.numpy.asarray(np.arange(1.0, N + 1))
    seen, solve = [], _in_place.solve_rows
    monkeypatch.setattr(_in_place, "solve_rows", lambda solver, b, x: seen.append(
        (b.ctypes.data, x.ctypes.data)) or solve(solver, b, x))
    x = ts.jax.solve((data, indices, indptr), b)
    assert seen == [(b.unsafe_buffer_pointer(), x.unsafe_buffer_pointer())]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_types_and_shapes(way, dtype, columns):
    dense, *parts = system(dtype)
    b = np.random.default_rng(1).random((N, columns) if columns else N).astype(dtype)
    for f in (ts.jax.solve, jax.jit(ts.jax.solve)):
        x = f(tuple(map(jax.numpy.asarray, parts)), jax.numpy.asarray(b))
        assert x.shape == b.shape and x.dtype == dtype
        assert np.linalg.norm(dense @ x - b) <= (1e-10 if dtype == np.float64 else 1e-5) * np.linalg.norm(b) * 1.01


@pytest.mark.parametrize("dtype", [np.complex128, np.float16])
def test_other_types_go_by_copies(dtype):
    dense, data, indices, indptr = system()
    values = data * (1 + 0.5j) if dtype == np.complex128 else data.astype(dtype)
    b = np.arange(1.0, N + 1).astype(dtype)
    x = ts.jax.solve((jax.numpy.asarray(values), indices, indptr), b, rtol=1e-10 if dtype == np.complex128 else 0.01)
    assert x.dtype == dtype
    full = dense * (1 + 0.5j) if dtype == np.complex128 else dense
    assert np.allclose(full @ np.asarray(x).astype(full.dtype), b, rtol=1e-9 if dtype == np.complex128 else 0.05)


def test_batches_of_matrices_and_of_right_hand_sides(way, monkeypatch):
    """A batch of right-hand sides within one of matrices: a solve of several columns for each matrix."""
    dense, data, indices, indptr = system()
    calls, many = [], ts.Solver._solve_structs
    monkeypatch.setattr(ts.Solver, "_solve_structs", lambda self, b, x: calls.append((b.rows, b.columns)) or
                        many(self, b, x))
    values = jax.numpy.stack([data, 2 * data, 3 * data])
    B = jax.numpy.asarray(np.random.default_rng(2).random((3, 4, N)))

    def one(v, b):
        return ts.jax.solve((v, indices, indptr), b)
    x = jax.vmap(jax.vmap(one, (None, 0)))(values, B)
    exact = np.linalg.solve(dense, np.asarray(B).reshape(12, N).T).T.reshape(3, 4, N) / np.arange(1, 4)[:, None, None]
    assert np.allclose(x, exact, rtol=1e-8) and calls == [(N, 4)] * 3
    x = jax.jit(jax.vmap(jax.vmap(one, (0, None)), (None, 0)))(values, B[0])  # the batch of matrices is inside
    assert np.allclose(x[:, 1], exact[0] / 2, rtol=1e-8)


def test_a_set_up_is_for_equal_values_alone(way):
    """Matrices that differ in the last bit of one value, or in one index, are others: no digest can mistake them."""
    dense, data, indices, indptr = system()
    b = jax.numpy.ones(N)
    ts.jax.solve((data, indices, indptr), b)
    first = tj._setups[0]
    near = data.copy()
    near[-1] = np.nextafter(near[-1], 9.0)
    ts.jax.solve((near, indices, indptr), b)
    assert tj._setups[0] is not first and tj._setups[1] is first
    ts.jax.solve((data, indices, indptr), b)
    assert tj._setups[0] is first
    moved = indices.copy()
    free = next(j for j in range(N - 1, -1, -1) if dense[N - 1, j] == 0)
    moved[-1 if indices[-1] != N - 1 else -2] = free
    ts.jax.solve((data, moved, indptr), b)
    assert tj._setups[0] is not first
    ts.jax.solve((data, indices, indptr), b, max_iterations=77)
    assert tj._setups[0] is not first and len(tj._setups) <= tj._KEPT


@pytest.mark.parametrize("copy", ["HostCopy", "DeviceCopy"])
def test_copies_know_their_values(copy, on_gpu):
    def same(one, other):
        if copy == "HostCopy":
            return _in_place.HostCopy(None, one).equals(other)
        return _in_place.DeviceCopy(on_gpu, memory(on_gpu, one)).equals(memory(on_gpu, other))
    rng = np.random.default_rng(3)
    for array in (rng.random(200000), rng.random(500).astype(np.float32),
                  rng.integers(0, 2**31 - 2**23, 500).astype(np.int32)):
        assert same(array, array.copy())
        for k in (0, array.size // 2, array.size - 1):
            other = array.copy()
            other[k] = np.nextafter(other[k], other.dtype.type(9)) if other.dtype.kind == "f" else other[k] ^ 1
            assert not same(array, other)
        assert not same(array, array[:-1]) and not same(array, array.astype(np.float64 if array.dtype != np.float64
                                                                            else np.float32))
    assert not same(np.array([5e-324, 1.0]), np.array([0.0, 1.0]))
    assert not same(np.array([1, 2], np.int32), np.array([1, -1], np.int32))
    assert not same(np.array([1, -1], np.int32), np.array([1, 2], np.int32))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_types_of_indices(way, kind):
    dense, data, indices, indptr = system()
    parts = jax.numpy.asarray(data), indices.astype(kind), indptr.astype("int32" if "8" in kind else kind)
    assert np.allclose(dense @ ts.jax.solve(parts, jax.numpy.ones(N)), 1.0, rtol=1e-9)


def test_indices_out_of_range_stay_so():
    for kind, given in (("int64", [-2**32 + 5, -1, 7, 2**31 - 1, 2**32 + 5]), ("uint64", [2**63, 2**32 + 5, 7]),
                        ("uint32", [2**32 - 1, 7]), ("int32", [-2**31, 7, 2**31 - 1]), ("int8", [-128, 7])):
        found = np.asarray(tj._int32(jax.numpy.asarray(np.array(given, kind))))
        assert found.dtype == np.int32
        assert [-1 if g < 0 else min(g, tj._MOST_ON_GPU) for g in given] == found.tolist()


def test_errors(way):
    _, data, indices, indptr = system()
    A, b = (jax.numpy.zeros_like(data), indices, indptr), jax.numpy.ones(N)
    with pytest.raises(ts.ConvergenceError, match="no verified solution") as caught:
        ts.jax.solve(A, b)
    assert not caught.value.result.verified
    with pytest.raises(RuntimeError, match="no verified solution"):  # ConvergenceError, or JAX's own where it is late
        jax.grad(lambda r: ts.jax.solve(A, r).sum())(b).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="no verified solution.*\n.*hint"):
        jax.jit(ts.jax.solve)(A, b).block_until_ready()
    with pytest.raises(ValueError, match="did you mean 'bicgstab'"):
        ts.jax.solve((data, indices, indptr), b, solver="bicgstap")
    with pytest.raises(ts.TesseraValueError, match="column index -5"):
        ts.jax.solve((data, jax.numpy.asarray(indices).at[3].set(-5), indptr), b)
    assert np.isfinite(ts.jax.solve((data, indices, indptr), b)).all()  # the next one is as ever


def test_ctrl_c_comes_out(monkeypatch):
    _, *parts = system()

    def interrupted(*_arguments):
        raise KeyboardInterrupt
    monkeypatch.setattr(_in_place, "solve_rows", interrupted)
    gc.collect()
    gc.disable()  # Python drops what a handler raises in a finalizer
    try:
        with pytest.raises(KeyboardInterrupt):
            try:
                ts.jax.solve(tuple(parts), jax.numpy.ones(N))
            finally:
                time.sleep(1.0)  # the thread that asks for the handler has its turn
    finally:
        gc.enable()


# ---- the memory of a GPU ----

@pytest.fixture
def on_gpu(monkeypatch):
    context = ts.Context(device="cpu")
    context.on_gpu, context._stream = True, 77
    for module in (_vectors, _in_place):
        monkeypatch.setattr(module, "memory_of", lambda _context: 0)
    tj._setups.clear()
    yield context
    tj._setups.clear()


def memory(context, array):
    return _dlpack.DeviceMemory(array.ctypes.data, array.shape, array.dtype, context.stream_address, array)


def solve_on(context, transposed, *arrays):
    tolerance = 1e-10 if arrays[0].dtype == np.float64 else 1e-5
    tj._solve_all(context, json.dumps([transposed, {"rtol": tolerance}]), *(memory(context, a) for a in arrays))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_memory_of_a_gpu(on_gpu, dtype, columns, transposed):
    dense, *parts = system(dtype)
    b, x = np.random.default_rng(1).random((columns, N)).astype(dtype), np.full((columns, N), 7.0, dtype)
    solve_on(on_gpu, transposed, *parts, b, x)
    full, limit = dense.T if transposed else dense, 1e-10 if dtype == np.float64 else 1e-5
    assert (np.linalg.norm(full @ x.T - b.T, axis=0) <= 1.01 * limit * np.linalg.norm(b, axis=1)).all()
    first = tj._setups[0]
    solve_on(on_gpu, transposed, *[part.copy() for part in parts], b, x)
    assert tj._setups == [first]
    assert first.solver.matrix.given == dtype


def test_padding_and_batches_in_the_memory_of_a_gpu(on_gpu):
    dense, data, indices, indptr = system()
    b, x = np.random.default_rng(1).random((2, 1, N)), np.zeros((2, 1, N))
    solve_on(on_gpu, False, np.append(data, [9.0, 9.0]), np.append(indices, [N, N]).astype(np.int32), indptr, b[0],
             x[0])
    assert np.allclose(dense @ x[0, 0], b[0, 0], rtol=1e-9)
    solve_on(on_gpu, False, np.stack([data, 2 * data]), indices[None], indptr[None], b, x)
    assert np.allclose(2 * dense @ x[1, 0], b[1, 0], rtol=1e-9) and np.allclose(dense @ x[0, 0], b[0, 0], rtol=1e-9)
    with pytest.raises(ts.ConvergenceError):
        solve_on(on_gpu, False, 0 * data, indices, indptr, b[0], x[0])
    with pytest.raises(ts.TesseraError, match="column index -100"):
        solve_on(on_gpu, False, data, indices - 100, indptr, b[0], x[0])
