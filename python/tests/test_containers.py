# SPDX-License-Identifier: Apache-2.0
"""
Sparse matrices of other libraries, as these define them: duplicates are summed, indices out of range are padding, rows
of a CSC are columns. Stand-ins have the attributes of JAX's types where JAX is missing.
"""
import numpy as np
import pytest
import scipy.sparse as sp

import tessera_sparse as ts

M = np.array([[4.0, 1.0, 0.0], [2.0, 5.0, -1.0], [0.0, 3.0, 7.0]])
B = np.array([1.0, 2.0, 3.0])


class Standin:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def standin(name, **fields):
    kind = type(name, (Standin,), {"__module__": "jax.experimental.sparse"})
    return kind(shape=(3, 3), **fields)


def triplets():
    """Those of M, unsorted, with a duplicate and with padding, whose values mean nothing."""
    rows, columns = np.array([2, 1, 0, 0, 1, 1, 3, 2, 0, 3]), np.array([2, 1, 1, 0, 0, 2, 3, 1, 0, 0])
    return np.array([7.0, 5.0, 1.0, 1.5, 2.0, -1.0, 9.0, 3.0, 2.5, 9.0]), rows, columns


def jax_like():
    data, rows, columns = triplets()
    yield standin("COO", data=data, row=rows, col=columns)
    yield standin("BCOO", data=data, indices=np.stack([rows, columns], axis=1), n_batch=0, n_dense=0)
    yield standin("BCOO", data=data, indices=np.stack([np.where(rows == 3, 0, rows), np.where(rows == 3, 3, columns)],
                                                      axis=1), n_batch=0, n_dense=0)
    values, indices, indptr = np.array([4.0, 1, 2, 5, -1, 3, 7, 9, 9]), [0, 1, 0, 1, 2, 1, 2, 3, 0], [0, 2, 5, 7]
    for name in ("CSR", "BCSR"):
        yield standin(name, data=values, indices=np.array(indices), indptr=np.array(indptr))
    yield standin("BCSR", data=np.array([1.0, 4, 9, -1, 2, 5, 7, 3]), indices=np.array([1, 0, 3, 2, 0, 1, 2, 1]),
                  indptr=np.array([0, 3, 6, 8]))
    yield standin("CSC", data=np.array([4.0, 2, 1, 5, 3, -1, 7, 9]), indices=np.array([0, 1, 0, 1, 2, 1, 2, 3]),
                  indptr=np.array([0, 2, 5, 7]))


@pytest.mark.parametrize("k", range(7))
def test_like_jax(k):
    A = ts.Matrix(list(jax_like())[k])
    assert np.array_equal(A.to_scipy().toarray(), M)


def test_like_jax_refused():
    with pytest.raises(ValueError, match="n_batch=1"):
        ts.Matrix(standin("BCOO", data=np.ones((2, 1)), indices=np.zeros((2, 1, 2), int), n_batch=1, n_dense=0))
    with pytest.raises(ts.TesseraValueError):
        ts.Matrix(standin("COO", data=np.ones(1), row=np.array([-1]), col=np.array([0])))


_PARTS = {"COO": ("data", "row", "col"), "BCOO": ("data", "indices")}


def of_jax(like):
    """JAX's own type with the arrays of a stand-in, in float32."""
    jax = pytest.importorskip("jax")
    sparse = pytest.importorskip("jax.experimental.sparse")
    name = type(like).__name__
    parts = [np.asarray(getattr(like, part)) for part in _PARTS.get(name, ("data", "indices", "indptr"))]
    return getattr(sparse, name)((*(jax.numpy.asarray(part) for part in parts),), shape=(3, 3))


@pytest.mark.parametrize("k", range(7))
def test_jax(k):
    A = of_jax(list(jax_like())[k])
    assert np.array_equal(ts.Matrix(A).to_scipy().toarray(), M)
    if k in (1, 6):
        jnp = pytest.importorskip("jax").numpy
        assert np.allclose(A @ jnp.array(np.linalg.solve(M, B)), B, rtol=1e-5)  # JAX means the same matrix


@pytest.mark.parametrize("k", [2, 5, 6])
def test_gradients_of_padded_jax(k):
    """Of each duplicate that of its entry, and 0 of padding; also under jit."""
    A = of_jax(list(jax_like())[k])
    jax = pytest.importorskip("jax")
    b = jax.numpy.array(B, "float32")
    kind, parts = type(A), (A.indices,) if k == 2 else (A.indices, A.indptr)
    value, gradient = jax.jit(jax.value_and_grad(
        lambda data: ts.jax.solve(kind((data, *parts), shape=(3, 3)), b).sum()))(A.data)
    x, y = np.linalg.solve(M, B), np.linalg.solve(M.T, np.ones(3))
    if k == 2:
        rows, columns = np.asarray(A.indices).T
    else:
        outer = np.searchsorted(np.asarray(A.indptr), np.arange(A.data.size), side="right") - 1
        rows, columns = (outer, np.asarray(A.indices)) if k == 5 else (np.asarray(A.indices), outer)
    inside = (rows < 3) & (columns < 3)
    expected = np.where(inside, -y[np.minimum(rows, 2)] * x[np.minimum(columns, 2)], 0)
    assert np.allclose(value, x.sum(), rtol=1e-4) and np.allclose(gradient, expected, rtol=1e-3, atol=1e-6)


def test_jax_refused():
    sparse = pytest.importorskip("jax.experimental.sparse")
    with pytest.raises(ValueError, match="n_dense=1"):
        ts.solve(sparse.BCSR((np.ones((1, 1)), np.zeros(1, int), np.array([0, 1])), shape=(1, 1, 1)), B)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia", "bsr", "dok", "lil"])
def test_scipy(kind):
    for make in (sp.csr_array, sp.csr_matrix):
        A = make(M).asformat(kind)
        assert np.array_equal(ts.Matrix(A).to_scipy().toarray(), M)
    third = sp.coo_array(M.astype(np.longdouble) / 3).asformat(kind)
    assert (ts.Matrix(third).loss > 0) == (np.dtype(np.longdouble).itemsize > 8)
    data, rows, columns = triplets()
    keep = rows < 3
    twice = sp.coo_array((data[keep], (rows[keep], columns[keep])), shape=(3, 3))
    assert np.array_equal(ts.Matrix(twice).to_scipy().toarray(), M)
    unsorted = sp.csr_array((np.array([1.0, 1.5, 2.5, 5, 2, -1, 7, 3]), np.array([1, 0, 0, 1, 0, 2, 2, 1]),
                             np.array([0, 3, 6, 8])), shape=(3, 3))
    assert np.array_equal(ts.Matrix(unsorted).to_scipy().toarray(), M)


def test_tuples_of_csr_arrays():
    A = sp.csr_array(M)
    for parts in ((A.data, A.indices, A.indptr), (A.data, A.indices, A.indptr, A.shape)):
        x, info = ts.gmres(parts, B, rtol=1e-10)
        assert info == 0 and np.allclose(M @ x, B)


def test_pydata():
    sparse = pytest.importorskip("sparse")
    for A in (sparse.COO.from_numpy(M), sparse.GCXS.from_numpy(M), sparse.GCXS.from_numpy(M, compressed_axes=(1,)),
              sparse.DOK.from_numpy(M)):
        assert np.array_equal(ts.Matrix(A).to_scipy().toarray(), M), type(A)


def test_like_pydata():
    """GCXS has to_scipy_sparse and no tocsr."""
    A = Standin(shape=(3, 3), to_scipy_sparse=lambda: sp.csc_array(M))
    assert np.array_equal(ts.Matrix(A).to_scipy().toarray(), M)


def test_torch():
    torch = pytest.importorskip("torch")
    T = torch.tensor(M)
    places = torch.tensor([[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 0, 1, 2, 1, 2]])
    twice = torch.sparse_coo_tensor(places, torch.tensor([1.5, 2.5, 1, 2, 5, -1, 3, 7], dtype=torch.float64), (3, 3))
    for A in (T, T.to_sparse(), T.to_sparse_csr(), T.to_sparse_csc(), T.to_sparse_bsr((1, 1)), twice):
        assert np.array_equal(ts.Matrix(A).to_scipy().toarray(), M), A.layout


def test_masked_values_are_refused():
    """NumPy's own conversion drops the mask, and solves for what lies below it."""
    b = np.ma.array(B, mask=[False, True, False])
    columns = np.ma.stack([b] * 4, axis=1)
    solver, A = ts.Solver(M), ts.Matrix(M)
    for call in (lambda: ts.solve(M, b), lambda: solver.solve(columns), lambda: solver.solve(B, x0=b), lambda: A @ b,
                 lambda: ts.gmres(M, b), lambda: ts.lsqr(M, b), lambda: ts.verify(M, b, B), lambda: A @ columns,
                 lambda: ts.solve_batch(sp.csr_array(M), np.ma.masked_values(np.ones((1, 7)), 1.0), np.ones((1, 3))),
                 lambda: ts.Matrix(np.ma.masked_values(M, 5.0)), lambda: ts.Sequence(M).solve(b)):
        with pytest.raises(ValueError, match=r"has \d+ masked values?, and the library takes no mask: fill them"):
            call()
    whole = ts.solve(M, np.ma.array(B, mask=False))  # a mask that hides nothing loses nothing
    assert np.array_equal(whole.x, ts.solve(M, B).x)


def test_a_sparse_b_is_refused_in_clear_words():
    b = sp.csr_array(B.reshape(-1, 1))
    for call in (lambda: ts.solve(M, b), lambda: ts.Solver(M).solve(b), lambda: ts.lsqr(M, b),
                 lambda: ts.Solver(M).solve(B, x0=b), lambda: ts.Matrix(M) @ b):
        with pytest.raises(TypeError, match=r" is sparse; wanted is a dense array, as its toarray\(\) returns"):
            call()
    assert ts.gmres(M, b, rtol=1e-10)[1] == 0  # SciPy's functions take it as SciPy's do
