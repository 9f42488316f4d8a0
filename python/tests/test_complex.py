# SPDX-License-Identifier: Apache-2.0
"""Complex matrices, right-hand sides, operators and preconditioners: the answers of SciPy, judged by NumPy."""
import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse")
import scipy.sparse.linalg as theirs  # noqa: E402

import tessera_sparse as ts  # noqa: E402

N = 144
METHODS = ["gmres", "fgmres", "bicgstab", "bicg", "cgs", "qmr", "tfqmr", "lgmres", "gcrotmk"]


def laplacian():
    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(12, 12))
    return sparse.csr_array(sparse.kron(line, sparse.eye_array(12)) + sparse.kron(sparse.eye_array(12), line))


def helmholtz(shift=0.3 - 0.2j):
    return sparse.csr_array(laplacian() - shift * sparse.eye_array(N))


def hermitian(shift=0.5):
    """A Laplacian with a magnetic field: phases beside the diagonal."""
    A = sparse.coo_array(laplacian())
    A.data = A.data * np.exp(0.4j * np.sign(A.col - A.row))
    return sparse.csr_array(A + shift * sparse.eye_array(N))


def vector(seed=0, columns=None):
    rng = np.random.default_rng(seed)
    shape = N if columns is None else (N, columns)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def test_a_matrix():
    A, x = helmholtz(), vector()
    M = ts.Matrix(A)
    assert M.is_complex and M.shape == (N, N) and M.nnz == A.nnz and M.dtype == np.complex128 and "complex" in repr(M)
    assert (M.to_scipy() != A).nnz == 0 and np.array_equal(M.diagonal(), A.diagonal())
    for got, wanted in ((M @ x, A @ x), (M.T @ x, A.T @ x), (M.H @ x, A.conj().T @ x), (M.rmatvec(x), A.conj().T @ x),
                        (M @ x.real, A @ x.real), (M @ vector(1, 3), A @ vector(1, 3))):
        assert got.dtype == np.complex128 and np.allclose(got, wanted, rtol=1e-13, atol=1e-13)
    assert M.T is M and M.H is not M  # complex symmetric
    H = ts.Matrix(hermitian())
    assert H.H is H and H.T is not H and H.analyze()["numerically_symmetric"] == 1
    real = ts.Matrix(laplacian())
    assert not real.is_complex and real.H is real and np.allclose(real @ x, laplacian() @ x)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array, sparse.coo_array, lambda a: a.toarray(),
                                  lambda a: (a.data, a.indices, a.indptr), lambda a: a.astype(np.complex64)])
def test_kinds_of_arrays(make):
    A = helmholtz()
    assert np.allclose(ts.Matrix(make(A)) @ vector(), A @ vector(), rtol=1e-6)


def test_duplicates_and_unsorted_rows():
    rows, cols = np.array([1, 0, 1, 0]), np.array([0, 1, 0, 0])
    values = np.array([1 + 2j, 3j, 2 - 1j, 5.0])
    M = ts.Matrix(sparse.coo_array((values, (rows, cols)), shape=(2, 2)))
    assert np.array_equal(M.to_scipy().toarray(), [[5, 3j], [3 + 1j, 0]])


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_the_iterations_of_scipy(name):
    A, b = helmholtz(), vector()
    x, info = getattr(ts, name)(A, b, rtol=1e-9)
    assert info == 0 and x.dtype == np.complex128 and residual(A, x, b) <= 1e-9 * (1 + 1e-7)
    if name in ("gmres", "bicgstab"):
        counts = []
        for library in (theirs, ts):
            seen = []
            extra = {"callback_type": "pr_norm", "restart": 40} if name == "gmres" else {}
            getattr(library, name)(A, b, rtol=1e-9, atol=0.0, callback=seen.append, **extra)
            counts.append(len(seen))
        assert abs(counts[0] - counts[1]) <= 1 + counts[0] // 10, counts


@pytest.mark.parametrize("name", ["cg", "minres"])
def test_hermitian_systems(name):
    A, b = hermitian(0.5 if name == "cg" else -1.3), vector()
    x, info = getattr(ts, name)(A, b, rtol=1e-9)
    assert info == 0 and residual(A, x, b) <= 1e-9 * (1 + 1e-7)
    result = ts.solve(hermitian(), b, rtol=1e-9)
    assert result.verified and result.solver == "cg" and result.x.dtype == np.complex128


@pytest.mark.parametrize("kind", ["jacobi", "block-jacobi:4", "ilu0", "ilut", "iluk:1", "amg", "lu"])
@pytest.mark.parametrize("factor", [1.0, 1j, np.exp(2j)])
def test_preconditioners_of_any_phase(kind, factor):
    """The real form of i L has zeros on its diagonal, with which no Jacobi and no incomplete factors work."""
    A, b = factor * helmholtz(-0.2 - 0.4j), vector()
    plain = ts.solve(A, b, solver="gmres", rtol=1e-9, gmres_restart=200)
    result = ts.solve(A, b, solver="gmres", precond=kind, rtol=1e-9, gmres_restart=200)
    assert result.verified and residual(A, result.x, b) <= 1e-9 * (1 + 1e-7)
    assert result.iterations <= plain.iterations
    M = ts.Preconditioner(A, kind)
    r = vector(3)
    assert M.shape == (N, N) and M.dtype == np.complex128
    assert np.allclose(M @ (1j * r), 1j * (M @ r), rtol=1e-4, atol=1e-5)  # linear, but for its FP32
    assert np.allclose(M @ np.stack([r, 2 * r], 1), np.stack([M @ r, 2 * (M @ r)], 1), rtol=1e-4, atol=1e-5)
    assert ts.gmres(A, b, M=M, rtol=1e-8, restart=200)[1] == 0


def test_preconditioners_renew():
    A, b = 1j * helmholtz(-0.2 - 0.4j), vector()
    solver = ts.Solver(A, solver="bicgstab", precond="ilu0", rtol=1e-9)
    first = solver.solve(b)
    values = A.data * np.exp(0.7j) * (1.0 + 0.1 * np.arange(A.nnz) / A.nnz)
    solver.update_values(values)
    B = sparse.csr_array((values, A.indices, A.indptr), shape=A.shape)
    again = solver.solve(b)
    assert first.verified and again.verified and residual(B, again.x, b) <= 1e-9 * (1 + 1e-7)
    assert again.iterations <= 2 * first.iterations


def test_operators_and_functions():
    A, b = helmholtz(), vector()
    op = theirs.LinearOperator(A.shape, matvec=lambda v: A @ v, rmatvec=lambda v: A.conj().T @ v, dtype=complex)
    x, info = ts.gmres(op, b, rtol=1e-9, restart=100)
    assert info == 0 and residual(A, x, b) <= 1e-8
    M = theirs.LinearOperator(A.shape, matvec=theirs.splu(sparse.csc_array(A)).solve, dtype=complex)
    for matrix in (A, laplacian(), op):  # a complex M makes a real system complex
        x, info = ts.gmres(matrix, b, rtol=1e-9, M=M, restart=100)
        assert info == 0 and residual(matrix, x, b) <= 1e-8
    matrix = ts.Matrix(op)
    assert matrix.is_complex and np.allclose(matrix.T @ b, A.T @ b) and np.allclose(matrix.H @ b, A.conj().T @ b)
    x, stop = ts.lsqr(op, b, atol=1e-11, btol=1e-11)[:2]
    assert residual(A, x, b) <= 1e-9


@pytest.mark.parametrize("columns", [None, 1, 3])
def test_real_matrix_complex_b(columns):
    A, b = laplacian(), vector(2, columns)
    for x in (ts.cg(A, b, rtol=1e-10)[0], ts.spsolve(A, b), ts.solve(A, b, rtol=1e-10).x, ts.splu(A).solve(b)):
        assert x.dtype == np.complex128 and residual(A, x.reshape(b.shape), b) <= 1e-10 * (1 + 1e-6)
    seen = []
    x, info = ts.cg(A, b[:, 0] if columns else b, rtol=1e-10, callback=lambda x: seen.append(x.copy()))
    assert info == 0 and np.array_equal(seen[-1], x)


@pytest.mark.parametrize("columns", [None, 1, 4])
def test_direct(columns):
    A, b = helmholtz(), vector(4, columns)
    x = ts.spsolve(A, b)
    assert residual(A, x.reshape(b.shape), b) <= 1e-10 and x.shape == theirs.spsolve(A, b).shape
    factors = ts.splu(A)
    for trans, matrix in (("N", A), ("T", A.T), ("H", A.conj().T)):
        x = factors.solve(b, trans)
        assert x.shape == b.shape and residual(matrix, x, b) <= 1e-10
    assert np.allclose(ts.factorized(A)(b), factors.solve(b))
    singular = A.toarray()
    singular[3] = 1j * singular[4]
    with pytest.warns(theirs.MatrixRankWarning):
        assert np.isnan(ts.spsolve(singular, vector())).all()


def test_triangles():
    A = sparse.csr_array(np.tril(vector(5, N)) + 20 * np.eye(N))
    b = vector()
    assert np.allclose(A @ ts.spsolve_triangular(A, b), b)
    upper = sparse.csr_array(A.T)
    assert np.allclose(upper @ ts.spsolve_triangular(upper, b, lower=False), b)


def test_single_precision():
    A, b = helmholtz().astype(np.complex64), vector().astype(np.complex64)
    for x in (ts.gmres(A, b, rtol=1e-5, restart=100)[0], ts.spsolve(A, b), ts.solve(A, b, rtol=1e-5).x):
        assert x.dtype == np.complex64 and residual(A.astype(complex), x.astype(complex), b) <= 1e-5


def test_transposed_solves():
    A, b = helmholtz() + sparse.diags_array(0.3 * vector()[1:], offsets=1, shape=(N, N)), vector(1)
    A = sparse.csr_array(A)
    solver = ts.Solver(A, solver="gmres", precond="ilu0", rtol=1e-9, gmres_restart=100)
    assert residual(A.T, solver.solve(b, transpose=True).x, b) <= 1e-9 * (1 + 1e-7)


def test_sequences():
    A, b = helmholtz(-0.2 - 0.4j), vector()
    with ts.Sequence(A, solver="gmres", precond="ilu0", rtol=1e-9) as sequence:
        for k in range(3):
            values = A.data * (1 + 0.1j * k)
            result = sequence.solve(b, values=values)
            assert result.verified and residual((1 + 0.1j * k) * A, result.x, b) <= 1e-9 * (1 + 1e-7)
        assert sequence.solve(b, A=A).verified
    with pytest.raises(ts.TesseraError):
        ts.Sequence(A).solve(b, values=A.data[:-1])


def test_least_squares():
    A = sparse.csr_array(np.random.default_rng(8).standard_normal((20, 8)) * (1 + 0.5j) + np.eye(20, 8) * 3j)
    b = np.arange(20) + 1j
    wanted = np.linalg.lstsq(A.toarray(), b, rcond=None)[0]
    for function in (ts.lsqr, ts.lsmr):
        x, stop = function(A, b, atol=1e-12, btol=1e-12)[:2]
        assert stop == 2 and np.allclose(x, wanted, atol=1e-9)
    damped = np.linalg.lstsq(np.vstack([A.toarray(), 0.5 * np.eye(8)]), np.append(b, np.zeros(8)), rcond=None)[0]
    assert np.allclose(ts.lsqr(A, b, damp=0.5, atol=1e-12, btol=1e-12)[0], damped, atol=1e-9)
    real = A.real
    assert np.allclose(ts.lsqr(real, b, atol=1e-12, btol=1e-12)[0], np.linalg.lstsq(real.toarray(), b, rcond=None)[0],
                       atol=1e-9)


def test_verify_and_results():
    A, b = helmholtz(), vector()
    x = theirs.spsolve(sparse.csc_array(A), b)
    found = ts.verify(A, b, x, rtol=1e-10)
    assert found.met and found.residual_norm == pytest.approx(np.linalg.norm(b - A @ x), abs=1e-12)
    wrong = x.copy()
    wrong[77] += 1e-3j
    found = ts.verify(A, b, wrong, rtol=1e-10)
    assert not found.met and found.worst_rows[0]["row"] in np.flatnonzero(A.toarray()[:, 77])
    assert ts.verify(laplacian(), laplacian() @ x, x, rtol=1e-10).met
    assert not ts.verify(laplacian(), b, x, rtol=1e-10)
    result = ts.solve(A, b, rtol=1e-10)
    assert result.rows["backward_row"] < N and ts.Matrix(A).residual(b, result.x)[0] == pytest.approx(
        result.residual_norm, rel=1e-6, abs=1e-16)
    together = ts.solve(A, np.stack([b, 2j * b], 1), rtol=1e-10)
    assert together.x.shape == (N, 2) and len(together.columns) == 2 and together.verified
    assert np.allclose(together.columns[1].x, together.x[:, 1])
    assert len(ts.advise(A)) > 0


def test_bad_input():
    A, b = helmholtz(), vector()
    for call, error, text in (
            (lambda: ts.solve(A, b[:-1]), ValueError, "rows"),
            (lambda: ts.Matrix(A).update_values(A.data[:-1]), ValueError, "values"),
            (lambda: ts.Matrix((A.data[:-1], A.indices, A.indptr)), ValueError, "elements"),
            (lambda: ts.solve(A, b, precond=ts.jacobi(ts.Matrix.gallery("laplace2d", 5))), ValueError, None),
            (lambda: ts.jacobi(A).T, NotImplementedError, "adjoint"),
            (lambda: ts.solve_batch(A, A.data.reshape(1, -1), b.reshape(1, -1)), TypeError, "complex"),
            (lambda: ts.cg(theirs.LinearOperator((2, 2), matvec=lambda v: 1j * v, dtype=float), np.ones(2)),
             TypeError, "complex")):
        with pytest.raises(error, match=text):
            call()
    x, info = ts.cg(hermitian(), b * np.nan)
    assert info != 0
