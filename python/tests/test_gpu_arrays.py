# SPDX-License-Identifier: Apache-2.0
"""Arrays of a GPU, read and written where they are. Needs a GPU, a library with its backend, and CuPy, Torch or JAX."""
import json

import numpy as np
import pytest

import tessera_sparse as ts
from tessera_sparse._library import lib

sparse = pytest.importorskip("scipy.sparse")


@pytest.fixture(scope="module")
def system():
    if not lib.tess_has_gpu_backend():
        pytest.skip("a library without a GPU backend")
    try:
        ts.Context(device="gpu")
    except ts.TesseraError as error:
        pytest.skip(f"no GPU: {error.message}")
    A = ts.Matrix.gallery("laplace2d", 64, context=ts.Context(device="cpu")).to_scipy()
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    return A, b, sparse.linalg.spsolve(A.tocsc(), b)


def close(x, expected):
    return np.linalg.norm(x - expected) <= 1e-6 * np.linalg.norm(expected)


def test_host_arrays_on_a_gpu(system):
    A, b, expected = system
    context = ts.Context(device="gpu")
    result = ts.solve(ts.Matrix(A, context=context), b, solver="cg", rtol=1e-10)
    assert result.verified and isinstance(result.x, np.ndarray) and close(result.x, expected)
    columns = ts.solve(ts.Matrix(A, context=context), np.stack([b, 2 * b], 1), solver="cg", rtol=1e-10)
    assert columns.verified and close(columns.x[:, 1], 2 * expected)


def test_batches_of_cupy_arrays(system):
    cupy = pytest.importorskip("cupy")
    A, b, expected = system
    factors = np.array([1.0, 2.0, 4.0])
    values, right = cupy.asarray(np.outer(factors, A.data)), cupy.asarray(np.stack([b] * 3))
    result = ts.solve_batch(A, values, right, rtol=1e-10)
    assert isinstance(result.x, cupy.ndarray) and result.verified.all()
    for s, factor in enumerate(factors):
        assert close(factor * result.x[s].get(), expected)
    assert (ts.solve_batch(A, values, right, result.x, rtol=1e-8).iterations == 0).all()
    with pytest.raises(TypeError, match="B is in the memory of the host"):
        ts.solve_batch(A, values, right.get())


def test_cupy(system):
    cupy = pytest.importorskip("cupy")
    cupyx = pytest.importorskip("cupyx.scipy.sparse")
    A, b, expected = system
    on_gpu, right = cupyx.csr_matrix(A), cupy.asarray(b)
    matrix = ts.Matrix(on_gpu)
    assert matrix.borrowed and matrix.context.on_gpu
    result = ts.solve(matrix, right, solver="cg", rtol=1e-10)
    assert result.verified and isinstance(result.x, cupy.ndarray) and close(result.x.get(), expected)
    x, info = ts.cg(on_gpu, right, rtol=1e-10)
    assert info == 0 and isinstance(x, cupy.ndarray) and close(x.get(), expected)
    again = ts.solve(matrix, cupy.stack([right, 2 * right], 1), solver="cg", rtol=1e-10)
    assert close(again.x[:, 1].get(), 2 * expected)
    assert ts.solve(matrix, right, result.x, solver="cg", rtol=1e-8).iterations == 0
    stream = cupy.cuda.Stream()
    with stream:
        scaled = ts.cg(on_gpu, 3 * right, rtol=1e-10)[0]
    stream.synchronize()
    assert close(scaled.get(), 3 * expected)


class ByDlpack:
    """An array of CuPy of which only DLPack is seen, as of a library that the package does not know."""

    def __init__(self, array):
        self._array, self.streams = array, []

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self._array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack_alone(system):
    cupy = pytest.importorskip("cupy")
    A, b, expected = system
    parts = [ByDlpack(cupy.asarray(part)) for part in (A.data, A.indices, A.indptr)]
    matrix = ts.Matrix((*parts, A.shape))
    assert matrix.borrowed and matrix.context.on_gpu
    right = ByDlpack(cupy.asarray(b))
    result = ts.solve(matrix, right, solver="cg", rtol=1e-10)
    assert result.verified and isinstance(result.x, cupy.ndarray) and close(result.x.get(), expected)
    assert right.streams == [matrix.context.stream_address]
    assert ts.solve(matrix, right, ByDlpack(result.x), solver="cg", rtol=1e-8).iterations == 0
    assert close((matrix @ right).get(), A @ b)
    with cupy.cuda.Stream():  # another stream of the lender: the context's waits for it
        late = ByDlpack(3 * cupy.asarray(b))
        x, info = ts.cg(matrix, late, rtol=1e-10)
    assert info == 0 and close(x.get(), 3 * expected)
    matrix.update_values(ByDlpack(2 * cupy.asarray(A.data)))
    assert close(ts.solve(matrix, right, solver="cg", rtol=1e-10).x.get(), expected / 2)


def test_the_tutorial_takes_arrays_of_cupy(system):
    cupy = pytest.importorskip("cupy")
    pytest.importorskip("matplotlib").use("Agg")
    with open("docs/tutorials/first-solve.ipynb", encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "first-solve.ipynb", "exec"), names)
    x, residual = names["x_gpu"], names["b_gpu"] - names["A_gpu"] @ names["x_gpu"]
    assert names["info"] == 0 and isinstance(x, cupy.ndarray)
    assert cupy.linalg.norm(residual) <= 1.001e-10 * cupy.linalg.norm(names["b_gpu"])


@pytest.mark.filterwarnings("error:ExternalStream")  # CuPy 14 has another way to work on a context's stream
def test_cupy_operator(system):
    cupy = pytest.importorskip("cupy")
    cupyx = pytest.importorskip("cupyx.scipy.sparse")
    A, b, expected = system
    on_gpu = cupyx.csr_matrix(A)

    class Operator:
        shape, dtype = A.shape, np.dtype(float)

        def matvec(self, x):
            return on_gpu @ x

    x, info = ts.cg(ts.Matrix(Operator(), context=ts.Context(device="gpu")), cupy.asarray(b), rtol=1e-10)
    assert info == 0 and close(x.get(), expected)


@pytest.mark.filterwarnings("ignore")
def test_torch(system):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("Torch without a GPU")
    A, b, expected = system
    right = torch.from_numpy(b).cuda()
    on_gpu = torch.sparse_csr_tensor(torch.from_numpy(A.indptr).cuda(), torch.from_numpy(A.indices).cuda(),
                                     torch.from_numpy(A.data).cuda(), A.shape)
    x, info = ts.cg(on_gpu, right, rtol=1e-10)
    assert info == 0 and x.is_cuda and close(x.cpu().numpy(), expected)
    right.requires_grad_()
    ts.torch.solve(on_gpu, right, solver="cg").sum().backward()
    assert close(right.grad.cpu().numpy(), sparse.linalg.spsolve(A.tocsc(), np.ones(A.shape[0])))


def test_jax(system):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX without a GPU")
    A, b, expected = system
    from jax.experimental.sparse import BCSR
    on_gpu = BCSR((jax.numpy.asarray(A.data), jax.numpy.asarray(A.indices), jax.numpy.asarray(A.indptr)),
                  shape=A.shape)
    result = ts.solve(on_gpu, jax.numpy.asarray(b), solver="cg", rtol=1e-10)
    assert result.verified and close(np.asarray(result.x), expected)


def test_jax_solve_in_place(system):
    """ts.jax.solve on a GPU: XLA hands over its arrays and its stream (test_jax_in_place.py has more, on the host)."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX without a GPU")
    assert ts.jax.paths()["cuda"] == "in place", ts.jax.paths()["cuda"]
    from tessera_sparse import jax as ours
    A, b, expected = system
    data, indices, indptr, right = map(jax.numpy.asarray, (A.data, A.indices, A.indptr, b))

    def solve(values, r, **options):
        return ts.jax.solve((values, indices, indptr), r, **options)

    x = solve(data, right)
    assert x.device.platform == "gpu" and close(np.asarray(x), expected)
    assert ours._setups[0].context.on_gpu and ours._setups[0].solver.matrix.borrowed
    first = ours._setups[0]
    assert close(np.asarray(jax.jit(solve)(data, right)), expected) and ours._setups[0] is first
    near = np.array(A.data)
    near[-1] = np.nextafter(near[-1], 9.0)
    assert close(np.asarray(solve(jax.numpy.asarray(near), right)), expected) and ours._setups[0] is not first

    B = jax.numpy.stack([right, 2 * right, 3 * right])
    X = jax.jit(jax.vmap(lambda r: solve(data, r, solver="cg")))(B)  # one solve of three columns
    assert all(close(np.asarray(X[k]), (k + 1) * expected) for k in range(3))
    X = jax.vmap(lambda v: solve(v, right, solver="cg"))(jax.numpy.stack([data, 2 * data]))
    assert close(np.asarray(X[1]), expected / 2)
    assert close(np.asarray(solve(data, jax.numpy.stack([right, 2 * right], 1))[:, 1]), 2 * expected)

    y = sparse.linalg.spsolve(A.T.tocsc(), np.ones(A.shape[0]))
    of_values, of_b = jax.jit(jax.grad(lambda v, r: solve(v, r).sum(), (0, 1)))(data, right)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    assert close(np.asarray(of_b), y) and close(np.asarray(of_values), -y[rows] * expected[A.indices])
    twice = jax.grad(lambda v: jax.jvp(lambda w: solve(w, right).sum(), (v,), (data,))[1])(data)  # f(s A) = f(A) / s
    assert close(np.asarray(twice), -2 * np.asarray(of_values))

    single = solve(data.astype("float32"), right.astype("float32"), rtol=1e-4)
    assert single.dtype == "float32" and np.linalg.norm(A @ np.asarray(single) - b) <= 1.01e-4 * np.linalg.norm(b)
    with pytest.raises(RuntimeError, match="no verified solution"):
        solve(0 * data, right).block_until_ready()
    assert close(np.asarray(solve(data, right)), expected)
