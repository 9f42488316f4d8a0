# SPDX-License-Identifier: Apache-2.0
"""Properties over random shapes, types, orders, empty and singular input (hypothesis), and PyAMG's gallery."""
import numpy as np
import pytest

import tessera_sparse as ts

hypothesis = pytest.importorskip("hypothesis")
sparse = pytest.importorskip("scipy.sparse")
from hypothesis import given, settings, strategies as st  # noqa: E402

FEW = settings(max_examples=40, deadline=None, derandomize=True)  # the same examples on every run
DTYPES = st.sampled_from(["f8", "f4", "i4", "i1", "u2", "?"])
VALUES = st.floats(-8, 8, allow_nan=False, width=16)


@st.composite
def matrices(draw, square=False, largest=9):
    nrows = draw(st.integers(0, largest))
    ncols = nrows if square else draw(st.integers(0, largest))
    entries = draw(st.lists(st.tuples(st.integers(0, max(nrows - 1, 0)), st.integers(0, max(ncols - 1, 0)), VALUES),
                            max_size=30 if nrows and ncols else 0))
    rows, columns, values = (np.array(part) for part in zip(*entries)) if entries else (np.zeros(0, int),) * 3
    dtype = np.dtype(draw(DTYPES))
    values = np.abs(values) if dtype.kind == "u" else values  # -1 would become 65,535
    A = sparse.coo_array((values.astype(dtype), (rows, columns)), shape=(nrows, ncols))
    return A.asformat(draw(st.sampled_from(["csr", "csc", "coo", "lil"])))  # SciPy adds duplicates in the type of A


@FEW
@given(matrices())
def test_a_matrix_goes_in_and_out(A):
    assert np.array_equal(ts.Matrix(A).to_scipy().toarray(), A.tocsr().toarray().astype("f8"))
    assert np.array_equal(ts.Matrix(A.toarray()).to_scipy().toarray(), A.tocsr().toarray().astype("f8"))
    assert np.array_equal(ts.Matrix(A).T.to_scipy().toarray(), A.tocsr().toarray().astype("f8").T)


@FEW
@given(matrices(), st.integers(0, 2**31))
def test_a_product_is_numpys(A, seed):
    x = np.random.default_rng(seed).standard_normal(A.shape[1])
    dense = A.tocsr().toarray().astype("f8")
    assert np.allclose(ts.Matrix(A) @ x, dense @ x, rtol=0, atol=64 * np.finfo(float).eps * (abs(dense) @ abs(x)).max(
        initial=1.0))


@FEW
@given(matrices(square=True), st.integers(0, 2**31), st.sampled_from(["C", "F", "strided", "reversed"]),
       st.integers(0, 3), st.sampled_from(["auto", "bicgstab", "gmres", "idr", "lsmr"]))
def test_what_is_verified_is_true(A, seed, order, columns, solver):
    n = A.shape[0]
    b = np.random.default_rng(seed).standard_normal((2 * n, max(columns, 1)))
    b = {"C": b[:n], "F": np.asfortranarray(b[:n]), "strided": b[::2], "reversed": b[:n][::-1]}[order]
    b = b if columns else b[:, 0]
    result = ts.solve(A, b, solver=solver, rtol=1e-8, max_iterations=200)
    assert result.x.shape == b.shape
    dense = A.tocsr().toarray().astype("f8")
    shape = n, max(columns, 1)
    for column, x, right in zip(result.columns, result.x.reshape(shape).T, b.reshape(shape).T):
        if column.verified and column.reason != "least_squares":
            slack = 32 * np.finfo(float).eps * (abs(dense) @ abs(x)).max(initial=0.0)
            assert np.linalg.norm(right - dense @ x) <= 1e-8 * np.linalg.norm(right) + slack


@FEW
@given(matrices(square=True), st.integers(0, 2**31))
def test_definite_systems_are_solved(A, seed):
    dense = A.tocsr().toarray().astype("f8")
    S = sparse.csr_array(dense @ dense.T + 40 * np.eye(A.shape[0]))
    b = np.random.default_rng(seed).standard_normal(A.shape[0])
    for function in (ts.cg, ts.minres, ts.bicgstab, ts.gmres, ts.idrs):
        assert function(S, b, rtol=1e-8, maxiter=300)[1] == 0


@FEW
@given(matrices(square=True), st.sampled_from(["x", "maxiters", "restar", "preconds", "solvr"]))
def test_unknown_options_are_refused(A, name):
    with pytest.raises(TypeError, match="no option"):
        ts.solve(A, np.ones(A.shape[0]), **{name: 1})


# ---- PyAMG's gallery ----

def gallery():
    pyamg = pytest.importorskip("pyamg")
    yield "poisson", pyamg.gallery.poisson((40, 40), format="csr")
    yield "poisson3d", pyamg.gallery.poisson((12, 12, 12), format="csr")
    stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.01, theta=np.pi / 6, type="FE")
    yield "anisotropic", pyamg.gallery.stencil_grid(stencil, (40, 40), format="csr")
    yield "elasticity", pyamg.gallery.linear_elasticity((12, 12))[0].tocsr()


@pytest.mark.parametrize("name", ["poisson", "poisson3d", "anisotropic", "elasticity"])
@pytest.mark.filterwarnings("ignore")
def test_problems_of_pyamg(name):
    A = dict(gallery())[name]
    b = np.random.default_rng(4).standard_normal(A.shape[0])
    for options in ({}, {"solver": "cg", "precond": "ic0"}, {"solver": "bicgstab", "precond": "ilu0"}):
        result = ts.solve(A, b, rtol=1e-8, **options)
        assert result.verified and np.linalg.norm(b - A @ result.x) <= 1.001e-8 * np.linalg.norm(b)


@pytest.mark.filterwarnings("ignore")
def test_pyamg_as_preconditioner():
    pyamg = pytest.importorskip("pyamg")
    A = pyamg.gallery.poisson((60, 60), format="csr")
    M = pyamg.ruge_stuben_solver(A).aspreconditioner()
    b = np.ones(A.shape[0])
    result = ts.solve(A, b, solver="cg", precond=M, rtol=1e-10)
    assert result.verified and result.iterations < 20
