# SPDX-License-Identifier: Apache-2.0
"""SciPy's signatures: info, types, shapes, callbacks; and no info == 0 that is false."""
import inspect
import warnings

import numpy as np
import pytest

import tessera_sparse as ts

sparse = pytest.importorskip("scipy.sparse")
import scipy.sparse.linalg as theirs  # noqa: E402

SYMMETRIC = [ts.cg, ts.minres]
SQUARE = [ts.cg, ts.minres, ts.bicgstab, ts.gmres, ts.fgmres, ts.idrs]
EPS = np.finfo(float).eps


def laplacian(n, dtype=float):
    return sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr").astype(dtype)


def true_residual(A, x, b):
    """In extended precision, which has 11 more bits than FP64."""
    dense = np.asarray(A.toarray() if hasattr(A, "toarray") else A, dtype=np.longdouble)
    scale = np.longdouble(np.abs(b).max() or 1.0)
    r = np.asarray(b, dtype=np.longdouble) / scale - dense @ (np.asarray(x, dtype=np.longdouble) / scale)
    return float(np.sqrt((r * r).sum()) / np.sqrt(((np.asarray(b, dtype=np.longdouble) / scale) ** 2).sum()))


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres", "minres", "lsqr", "lsmr"])
def test_signatures_are_scipys(name):
    ours = inspect.signature(getattr(ts, name)).parameters
    for parameter in inspect.signature(getattr(theirs, name)).parameters.values():
        assert parameter.name in ours
        assert ours[parameter.name].kind == parameter.kind
        if parameter.default is not inspect.Parameter.empty:
            assert ours[parameter.name].default == parameter.default or parameter.name == "calc_var"


@pytest.mark.parametrize("function", SQUARE)
@pytest.mark.parametrize("shape", [(30,), (30, 1), (30, 3)])
def test_shapes(function, shape):
    A, b = laplacian(30), np.random.default_rng(3).standard_normal(shape)
    x, info = function(A, b, rtol=1e-9)
    assert info == 0 and x.shape == (shape if shape != (30, 1) else (30,))  # as SciPy has it
    for xk, bk in zip(x.reshape(30, -1).T, b.reshape(30, -1).T):
        assert true_residual(A, xk, bk) <= 1e-9 * (1 + 4 * EPS)


@pytest.mark.parametrize("function", SQUARE)
@pytest.mark.parametrize("of_a,of_b,of_x", [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("f8", "f4", "f8"),
                                            ("i4", "i8", "f8"), ("i4", "f4", "f8"), ("f8", "f8", "f8")])
def test_types(function, of_a, of_b, of_x):
    x, info = function(laplacian(20, of_a), np.ones(20, of_b), rtol=1e-3)
    assert info == 0 and x.dtype == ("f8" if function is ts.minres else of_x)  # minres is so in SciPy too


def test_float32_is_judged_after_rounding():
    """FP32 cannot hold an x with this residual: info must not be 0, though the FP64 solve was verified."""
    A, b = laplacian(400, "f4"), np.random.default_rng(8).standard_normal(400).astype("f4")
    x, info = ts.cg(A, b, rtol=1e-10)
    assert x.dtype == np.float32 and info > 0
    assert true_residual(A, x, b) > 1e-10
    assert ts.cg(A.astype("f8"), b, rtol=1e-10)[1] == 0


@pytest.mark.parametrize("function", SQUARE)
def test_limit_of_iterations(function):
    x, info = function(laplacian(200), np.ones(200), rtol=1e-12, maxiter=2)
    assert info == 2 and x.shape == (200,)


@pytest.mark.filterwarnings("ignore:not solved")
def test_breakdowns_are_below_zero():
    assert ts.cg(sparse.diags_array([1.0, -1.0, 2.0]), np.ones(3))[1] == -10
    assert ts.cg(sparse.csr_array([[1.0, 2.0], [0.0, 1.0]]), np.ones(2))[1] == -7
    assert ts.cg(laplacian(4), np.array([1.0, np.nan, 1.0, 1.0]))[1] == -9


@pytest.mark.parametrize("function", [ts.cg, ts.minres, ts.bicgstab, ts.idrs])
def test_callback_gets_iterates(function):
    A, b, seen = laplacian(40), np.ones(40), []
    x, info = function(A, b, rtol=1e-8, callback=lambda xk: seen.append(true_residual(A, xk, b)))
    assert info == 0 and seen[-1] <= 1e-8 * 1.001 and len(seen) >= 10


def test_callbacks_of_gmres():
    A, b, norms, iterates = laplacian(40), np.ones(40), [], []
    assert ts.gmres(A, b, rtol=1e-8, callback=norms.append, callback_type="pr_norm")[1] == 0
    assert all(np.diff(norms) <= 1e-12) and norms[-1] <= 1e-8
    x, info = ts.gmres(A, b, rtol=1e-8, restart=10, callback=iterates.append, callback_type="x", maxiter=300)
    assert info == 0 and (iterates[-1] == x).all() and true_residual(A, x, b) <= 1e-8 * (1 + 4 * EPS)
    with pytest.raises(ValueError, match="callback_type"):
        ts.gmres(A, b, callback=norms.append, callback_type="y")


def test_callbacks_of_restarted_gmres_are_scipys():
    """One call for each iteration, also where a cycle begins (PyAMG compares the norms)."""
    rng = np.random.default_rng(1)
    A, b, x0 = rng.random((20, 20)), rng.random(20), rng.random(20)
    seen = {}
    for gmres in (sparse.linalg.gmres, ts.gmres):
        norms = seen[gmres] = []
        gmres(A, b, x0, rtol=1e-16, restart=3, maxiter=3, callback=norms.append, callback_type="pr_norm")
    assert np.allclose(*seen.values(), rtol=1e-10)


def test_preconditioners_of_all_kinds():
    A, b = ts.Matrix.gallery("laplace2d", 20), np.ones(400)
    S = A.to_scipy()
    D = sparse.diags_array(1.0 / S.diagonal())
    factors = theirs.splu(S.tocsc())
    for M in (ts.ic0(A), ts.jacobi(S), D, D.toarray(), theirs.aslinearoperator(D),
              theirs.LinearOperator(S.shape, matvec=factors.solve), lambda r: r / 4.0):
        x, info = ts.cg(S, b, M=M, rtol=1e-8)
        assert info == 0 and true_residual(S, x, b) <= 1e-8 * (1 + 4 * EPS)
    with pytest.raises(ValueError, match="preconditioner"):
        ts.cg(S, b, M=np.eye(3))


def test_shift_of_minres():
    A, b = laplacian(30), np.ones(30)
    x, info = ts.minres(A, b, shift=0.7, rtol=1e-8)
    assert info == 0 and true_residual(A - 0.7 * sparse.eye_array(30), x, b) <= 1e-8 * (1 + 4 * EPS)


def test_least_squares_agree_with_numpy():
    rng = np.random.default_rng(7)
    A, b = rng.standard_normal((30, 8)), rng.standard_normal(30)
    expected = np.linalg.lstsq(A, b, rcond=None)[0]
    for function in (ts.lsqr, ts.lsmr):
        out = function(A, b, atol=1e-12, btol=1e-12)
        assert out[1] == 2 and np.allclose(out[0], expected, rtol=1e-8)
        damped = function(A, b, damp=2.0, atol=1e-12, btol=1e-12)
        exact = np.linalg.solve(A.T @ A + 4.0 * np.eye(8), A.T @ b)
        assert np.allclose(damped[0], exact, rtol=1e-8)
    assert np.isclose(ts.lsqr(A, b)[3], np.linalg.norm(b - A @ expected), rtol=1e-5)


@pytest.mark.parametrize("function", [ts.lsqr, ts.lsmr])
def test_damp_is_the_distance_from_x0(function):
    """min ||b - A x||^2 + 4 ||x - x0||^2: (A^T A + 4 I) (x - x0) = A^T (b - A x0)."""
    A, b, x0 = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0]), np.array([10.0, -10.0])
    x = function(A, b, damp=2.0, x0=x0, atol=1e-12, btol=1e-12)[0]
    exact = x0 + np.linalg.solve(A.T @ A + 4.0 * np.eye(2), A.T @ (b - A @ x0))
    assert np.allclose(x, exact, rtol=1e-8) and np.allclose(x, [8.094, -4.566], atol=1e-3)


@pytest.mark.parametrize("function", [ts.lsqr, ts.lsmr])
@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (20, 20)])
@pytest.mark.parametrize("damp", [0.0, 2.0])
def test_least_squares_of_operators(function, shape, damp):
    from scipy.sparse.linalg import LinearOperator, aslinearoperator
    A, b, calls = np.random.default_rng(7).standard_normal(shape), np.arange(float(shape[0])), []
    operator = LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float,
                              rmatvec=lambda y: calls.append(1) or A.T @ y)
    expected = function(aslinearoperator(A), b, damp=damp, atol=1e-12, btol=1e-12)
    out = function(operator, b, damp=damp, atol=1e-12, btol=1e-12)
    assert out[1] == expected[1] and out[1] in (1, 2)
    assert out[2] <= len(calls) and abs(out[2] - expected[2]) <= 3
    assert np.allclose(out[0], expected[0], rtol=1e-8)
    assert out[1] == 1 or np.isclose(out[5], expected[5], rtol=0.3)  # anorm, normA


def test_operators_say_what_they_lack():
    from scipy.sparse.linalg import LinearOperator
    A, b = laplacian(40), np.ones(40)
    operator = LinearOperator(A.shape, matvec=A.dot, dtype=float)
    with pytest.raises(ts.ConvergenceError, match=r"(?s)converged.*nothing bounds its error.*error_bound=") as caught:
        ts.spsolve(operator, b)
    assert caught.value.result.converged and np.allclose(A @ caught.value.result.x, b)
    bounded = ts.Matrix(operator, error_bound=lambda x: 4 * EPS * 4.0 * np.linalg.norm(x))
    assert np.allclose(A @ ts.spsolve(bounded, b), b)
    with pytest.raises(TypeError, match="function, which has no size.*LinearOperator"):
        ts.cg(lambda x: A @ x, b)


@pytest.mark.parametrize("method", ["lsqr", "lsmr"])
def test_bounds_of_operators_in_least_squares(method):
    from scipy.sparse.linalg import LinearOperator
    A = np.random.default_rng(7).standard_normal((30, 8))
    operator = LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=lambda y: A.T @ y, dtype=float)
    def bound(x):
        return 8 * EPS * np.linalg.norm(A) * np.linalg.norm(x)
    inside, outside = A @ np.ones(8), np.arange(30.0)
    for matrix, verified in ((ts.Matrix(operator), False), (ts.Matrix(operator, error_bound=bound), True)):
        result = ts.solve(matrix, inside, solver=method, precond="none", rtol=1e-10)
        assert result.converged and result.verified == verified and np.allclose(result.x, 1.0)
        result = ts.solve(matrix, outside, solver=method, precond="none", rtol=1e-10)
        assert result.reason == "least_squares" and result.converged and not result.verified
        x, stop = getattr(ts, method)(matrix, outside, damp=1.5, atol=1e-12, btol=1e-12)[:2]
        assert stop == 2 and np.allclose(x, np.linalg.solve(A.T @ A + 2.25 * np.eye(8), A.T @ outside), rtol=1e-8)
    with pytest.raises(NotImplementedError, match="norms of columns"):
        ts.solve(operator, inside, solver=method, precond="jacobi")
    with pytest.raises(ValueError, match="30 by 8"):
        ts.solve(operator, inside, solver="gmres")


@pytest.mark.parametrize("function", [ts.lsqr, ts.lsmr])
@pytest.mark.parametrize("damp", [0.0, 2.0])
def test_least_squares_of_operators_that_fail(function, damp):
    from scipy.sparse.linalg import LinearOperator
    A, b, calls = np.random.default_rng(7).standard_normal((30, 8)), np.arange(30.0), []
    with pytest.raises(NotImplementedError, match="give rmatvec"):
        function(LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float), b, damp=damp)

    def fails_later(y):
        calls.append(1)
        if len(calls) == 4:
            raise KeyError("four")
        return A.T @ y
    with pytest.raises(KeyError, match="four"):
        function(LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=fails_later, dtype=float), b, damp=damp)


def test_superlu_as_preconditioner():
    from scipy.sparse.linalg import spilu
    A, b = laplacian(50), np.ones(50)
    x, info = ts.gmres(A, b, M=spilu(A.tocsc()), rtol=1e-10)
    assert info == 0 and true_residual(A, x, b) <= 1e-10 * (1 + 4 * EPS)


def test_spsolve():
    A = sparse.random_array((80, 80), density=0.1, rng=np.random.default_rng(2)) + 4 * sparse.eye_array(80)
    b = np.arange(80.0)
    assert true_residual(A, ts.spsolve(A, b), b) <= 1e-10 * (1 + 4 * EPS)
    B = np.random.default_rng(3).standard_normal((80, 3))
    assert np.linalg.norm(B - A @ ts.spsolve(A, B)) <= 1e-9
    with pytest.raises(ts.ConvergenceError) as caught:
        ts.spsolve(
            np.array([[1.0, 2.0], [0.0, 3.0]]),
            np.array([1.0, 2.0]),
            solver="gmres",
            max_iterations=1,
            restart=1,
            precond="none",
        )
    assert not caught.value.result.converged


def test_spsolve_of_float32():
    A = (sparse.random_array((80, 80), density=0.1, rng=np.random.default_rng(2)) + 4 * sparse.eye_array(80)).tocsr()
    A, b = A.astype(np.float32), np.arange(80, dtype=np.float32)
    x = ts.spsolve(A, b)
    assert x.dtype == np.float32 and true_residual(A, x, b) <= 1e-5
    with pytest.raises(ts.ConvergenceError), pytest.warns(RuntimeWarning):  # no float32 has that
        ts.spsolve(A, b, rtol=1e-10)


@pytest.mark.parametrize("A", [np.ones((2, 2)), np.diag([1.0, 0.0]), np.zeros((2, 2)),
                               np.array([[0.0, 1.0], [0.0, 2.0]]),
                               np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0, 1, 1]])])
def test_singular_matrices_are_scipys(A):
    """NaN and SciPy's warning; but an x that is verified is returned, which SciPy does not."""
    b = np.arange(1.0, A.shape[0] + 1.0) ** 2
    with pytest.warns(theirs.MatrixRankWarning) as caught:
        x = ts.spsolve(A, b)
    assert np.isnan(x).all() and x.shape == b.shape and caught[0].filename == __file__
    with pytest.warns(theirs.MatrixRankWarning):
        assert np.isnan(theirs.spsolve(sparse.csc_array(A), b)).all()
    solvable = A @ np.ones(A.shape[0])
    assert np.allclose(A @ ts.spsolve(A, solvable), solvable, rtol=1e-9)


def test_a_failed_call_warns():
    for A, b, info, words in ((sparse.diags_array([1.0, -1.0, 2.0]), np.ones(3), -10, "not positive definite"),
                              (sparse.csr_array([[1.0, 2.0], [0.0, 1.0]]), np.ones(2), -7, "symmetric")):
        with pytest.warns(RuntimeWarning, match=words) as caught:
            assert ts.cg(A, b)[1] == info
        assert caught[0].filename == __file__


def test_negative_definite_matrices():
    for function in (ts.cg, ts.minres):
        x, info = function(-laplacian(30), np.ones(30), rtol=1e-9)
        assert info == 0 and true_residual(-laplacian(30), x, np.ones(30)) <= 1e-9 * (1 + 4 * EPS)


@pytest.mark.parametrize("function", [ts.cg, ts.minres])
def test_symmetry_of_float32(function):
    """Entries that were added up in float32 in another order: the type's rounding, which float64 does not have."""
    A = laplacian(40, "f4")
    A.data[(A.data < 0) & (np.arange(A.nnz) % 2 == 0)] *= np.float32(1 + 2.0**-23)
    assert (A != A.T).nnz and function(A, np.ones(40, "f4"), rtol=1e-4)[1] == 0
    with pytest.warns(RuntimeWarning, match="symmetric"):
        assert function(A.astype(float), np.ones(40), rtol=1e-4)[1] == -7


@pytest.mark.parametrize("name", ["bicg", "cgs", "qmr", "tfqmr", "lgmres", "gcrotmk"])
def test_other_names(name):
    A = laplacian(30) + sparse.diags_array(np.full(29, 0.3), offsets=1, shape=(30, 30))
    ours, seen = inspect.signature(getattr(ts, name)).parameters, []
    for parameter in inspect.signature(getattr(theirs, name)).parameters.values():
        assert ours[parameter.name].kind == parameter.kind and ours[parameter.name].default == parameter.default
    b = np.arange(30.0)
    for M in (None, ts.ilu0(A)):
        x, info = getattr(ts, name)(A, b, rtol=1e-9, M=M, callback=lambda xk: seen.append(xk.shape))
        assert info == 0 and true_residual(A, x, b) <= 1e-9 * (1 + 4 * EPS)
    assert set(seen) == {(30,)}


def test_both_preconditioners_of_qmr():
    A, b, calls = laplacian(30), np.ones(30), []
    x, info = ts.qmr(A, b, M1=lambda r: calls.append(1) or r / 2.0, M2=lambda r: calls.append(2) or r, rtol=1e-9)
    assert info == 0 and calls[:2] == [1, 2]
    with pytest.raises(TypeError, match="M1"):
        ts.qmr(A, b, M=ts.ilu0(A), M1=ts.ilu0(A))


def test_arguments_of_scipys_spsolve():
    A, b = laplacian(20), np.arange(20.0)
    expected = theirs.spsolve(A.tocsc(), b)
    for x in (ts.spsolve(A, b, "COLAMD", False), ts.spsolve(A, b, permc_spec="NATURAL", use_umfpack=True),
              ts.spsolve(A, b[:, None]), ts.spsolve(A, sparse.csc_array(b[:, None]))):
        assert x.shape == (20,) and np.allclose(x, expected, rtol=1e-8)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        B = kind(np.eye(20, 3))
        X = ts.spsolve(A, B)
        assert type(X) is kind and X.shape == (20, 3)
        assert np.allclose(X.toarray(), theirs.spsolve(A.tocsc(), B.toarray()), rtol=1e-8)


def filter_of(n, penalty):
    """The matrix of a Hodrick-Prescott filter."""
    second = sparse.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(n - 2, n))
    return sparse.csc_array(sparse.eye_array(n) + penalty * (second.T @ second))


def test_backward_error_is_enough_where_rtol_cannot_be_reached():
    A, b = filter_of(3000, 1e8), np.cumsum(np.random.default_rng(0).standard_normal(3000))
    result = ts.solve(A, b, rtol=1e-10, stop_norm="both")
    assert not result.verified  # no x in FP64 has this residual
    for x in (ts.spsolve(A, b), ts.splu(A).solve(b)):
        r = np.abs(np.asarray(b, np.longdouble) - A.astype(np.longdouble) @ x.astype(np.longdouble))
        assert (r <= 4 * EPS * (abs(A) @ abs(x) + abs(b))).all()
    near = np.array([[1.0, 1.0], [1.0, 1.0 + EPS]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", theirs.MatrixRankWarning)
        x = ts.spsolve(near, np.array([1.0, 2.0]))
    assert np.isnan(x).all() or np.linalg.norm(np.array([1.0, 2.0]) - near @ x) <= 1e-5  # a huge x is no answer


def test_factors():
    rng = np.random.default_rng(4)
    A = sparse.csc_array(sparse.random_array((60, 60), density=0.1, rng=rng) + 3 * sparse.eye_array(60))
    factors, calls = ts.splu(A), []
    precond = factors.precond
    matvec, matmat = precond.matvec, precond.matmat
    precond.matvec = lambda r: calls.append(1) or matvec(r)
    precond.matmat = lambda R: calls.append(R.shape[1]) or matmat(R)
    for b in (np.arange(60.0), np.arange(60), rng.standard_normal((60, 4)), np.ones((60, 1)), np.zeros((60, 0))):
        for trans, matrix in (("N", A), ("T", A.T), ("H", A.T)):
            x = factors.solve(b, trans)
            assert x.shape == b.shape and np.linalg.norm(b - matrix @ x) <= 1e-10 * np.linalg.norm(b)
    assert calls == [1, 1, 4, 1]  # each b is applied once, its columns together, and none is refined
    assert np.allclose(ts.factorized(A)(np.ones(60)), theirs.spsolve(A, np.ones(60)))
    for call in (lambda: factors.solve(np.ones(3)), lambda: factors.solve(np.ones(60), "X"),
                 lambda: ts.splu(np.ones((2, 3)))):
        with pytest.raises(ValueError):
            call()
    M = ts.spilu(A, drop_tol=1e-3, fill_factor=5)
    assert ts.gmres(A, np.ones(60), M=M, rtol=1e-9)[1] == 0 and theirs.gmres(A, np.ones(60), M=theirs.LinearOperator(
        A.shape, M.solve), rtol=1e-9)[1] == 0


@pytest.mark.parametrize("of_complex", [False, True])
def test_incomplete_factors_order_their_rows(of_complex):
    """As SuperLU's do: factors of scattered rows need far more fill (an example of scikit-fem)."""
    theirs = sparse.linalg
    line, n = laplacian(40), 1600
    A = sparse.csr_array(sparse.kronsum(line, line)) * (1 + 0.2j if of_complex else 1)
    A.data[::3] *= 1.01  # not symmetric
    mixed = np.random.default_rng(3).permutation(n)
    A = sparse.csr_array(A[mixed][:, mixed])
    b, counts = np.ones(n), []
    for trans, B in (("N", A), ("T", A.T), ("H", A.T.conj())):
        for factors in (ts.spilu(A, 1e-4, 10), ts.spilu(A, 1e-4, 10, permc_spec="NATURAL")):
            M = theirs.LinearOperator(A.shape, lambda r, f=factors, t=trans: f.solve(r, t), dtype=A.dtype)
            seen = []
            x, info = theirs.bicgstab(B, b, M=M, rtol=1e-10, maxiter=200, callback=seen.append)
            counts.append(len(seen))
            assert info == 0 or counts[-1] == 200
    assert max(counts[::2]) <= 8 and min(counts[1::2]) > (1 if of_complex else 1.9) * max(counts[::2]), counts
    R = np.random.default_rng(4).random((n, 3))
    factors = ts.spilu(A)
    assert np.allclose(factors.solve(R)[:, 1], factors.solve(R[:, 1]), rtol=1e-12)


def test_singular_matrices_have_no_factors():
    for A in (np.ones((2, 2)), np.diag([1.0, 0.0]), np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 2.0]])):
        with pytest.raises(RuntimeError):
            ts.splu(A).solve(np.array([1.0, 3.0]))


def test_factors_refine():
    """Factors that are off by 1 %: x is refined, as verified as any."""
    A = laplacian(50)
    factors, b = ts.splu(A), np.ones(50)
    matvec, matmat = factors.precond.matvec, factors.precond.matmat
    factors.precond.matvec, factors.precond.matmat = lambda r: 1.01 * matvec(r), lambda R: 1.01 * matmat(R)
    assert true_residual(A, factors.solve(b), b) <= 1e-10 * (1 + 4 * EPS)
    X = factors.solve(np.column_stack([b, 2 * b]))
    assert true_residual(A, X[:, 1], 2 * b) <= 1e-10 * (1 + 4 * EPS)


def test_columns_of_preconditioners_go_together(monkeypatch):
    from tessera_sparse import _library
    calls, apply = [], _library.lib.tess_precond_apply_columns
    monkeypatch.setattr(_library.lib, "tess_precond_apply_columns",
                        lambda *arguments: calls.append(1) or apply(*arguments))
    A = laplacian(40)
    R = np.random.default_rng(1).standard_normal((40, 7))
    for M in (ts.ic0(A), ts.jacobi(A), ts.lu(A, precond_precision="fp64"), ts.amg(A)):
        X = M @ R[:, ::2]
        alone = np.column_stack([M @ R[:, j] for j in range(0, 7, 2)])
        assert np.allclose(X, alone, rtol=1e-10, atol=1e-12)
        assert M.matmat(R[:, :0]).shape == (40, 0)
    assert len(calls) == 4
    with pytest.raises(ValueError, match="40"):
        ts.ic0(A) @ np.ones((3, 2))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangles(lower, unit):
    A = sparse.csr_array(np.random.default_rng(5).standard_normal((30, 30)) * 0.1 + 2 * np.eye(30))
    triangle = np.tril(A.toarray()) if lower else np.triu(A.toarray())
    if unit:
        np.fill_diagonal(triangle, 1.0)
    for b in (np.arange(30.0), np.ones((30, 1)), np.eye(30, 3)):
        x = ts.spsolve_triangular(A, b, lower, unit_diagonal=unit)
        assert x.shape == b.shape and np.allclose(triangle @ x, b, rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="row 1"):
        ts.spsolve_triangular(np.diag([1.0, 0.0, 1.0]), np.ones(3))


def test_objects_as_operators_of_scipy():
    A = laplacian(40) + sparse.diags_array(np.full(39, 0.3), offsets=1, shape=(40, 40))
    matrix, X = ts.Matrix(A), np.random.default_rng(6).standard_normal((40, 3))
    for make in (ts.ilu0, ts.jacobi, ts.lu, lambda a: ts.iluk(a, 2), lambda a: ts.block_jacobi(a, 4),
                 lambda a: ts.ilu0(a, triangular="sweeps:2"), lambda a: ts.ilu0(a, triangular="colors"),
                 lambda a: ts.ilu0(a, factorization="sweeps:2")):
        M = make(matrix)
        dense = M @ np.eye(40)
        assert np.allclose(M @ X, dense @ X, rtol=1e-5, atol=1e-6) and (M @ X == M.matmat(X)).all()
        assert np.allclose(M.rmatmat(X), dense.T @ X, rtol=1e-5, atol=1e-6)
        assert np.allclose(M.T @ X[:, 0], M.rmatvec(X[:, 0]))
        assert theirs.bicg(matrix, np.ones(40), M=M)[1] == 0
    assert np.allclose(matrix.rmatvec(X[:, 0]), A.T @ X[:, 0]) and np.allclose(matrix.rmatmat(X), A.T @ X)
    assert (matrix.dot(X) == matrix @ X).all() and (M.dot(X[:, 0]) == M @ X[:, 0]).all()
    with pytest.raises(TypeError, match="A @ x"):
        matrix * X[:, 0]
    assert theirs.lsqr(matrix, np.ones(40))[1] in (1, 2)
    with pytest.raises(NotImplementedError, match="ilut"):
        ts.ilut(matrix).T
    symmetric = ts.ic0(laplacian(40))
    assert symmetric.T is symmetric
    found = theirs.lobpcg(laplacian(40), X, M=symmetric, largest=False, tol=1e-8, maxiter=200)[0]
    assert np.allclose(found, np.sort(np.linalg.eigvalsh(laplacian(40).toarray()))[:3], rtol=1e-6)
    for thing in (matrix, symmetric):
        with pytest.raises(TypeError, match="no array"):
            np.asarray(thing)


def test_a_diagonal_as_preconditioner():
    A = laplacian(30)
    assert ts.cg(A, np.ones(30), M=1.0 / A.diagonal(), rtol=1e-9)[1] == 0
    assert ts.solve(A, np.ones(30), solver="cg", precond=1.0 / A.diagonal()).verified
    assert ts.cg(A, np.ones(30), x0="Mb", M=1.0 / A.diagonal(), rtol=1e-9)[1] == 0


@pytest.mark.parametrize("call,error", [
    (lambda: ts.cg(laplacian(4), np.ones(3)), ValueError), (lambda: ts.cg(np.ones((2, 3)), np.ones(2)), ValueError),
    (lambda: ts.cg(laplacian(4), np.ones(4), rtol=-1.0), ValueError),
    (lambda: ts.cg(laplacian(4), np.ones(4), rtol="small"), ValueError),
    (lambda: ts.cg(laplacian(4), np.ones(4), maxiter=-1), ValueError),
    (lambda: ts.cg(laplacian(4), np.ones(4), maxiter=2.5), ValueError),
    (lambda: ts.cg(laplacian(4), np.ones(4), x0="Mx"), ValueError),
    (lambda: ts.lsqr(np.ones((3, 2)), np.ones(2)), ValueError),
    (lambda: ts.cg(None, np.ones(2)), TypeError), (lambda: ts.gmres(None, np.ones(2)), TypeError),
])
def test_bad_input(call, error):
    with pytest.raises(error):
        call()


# ---- claims that must not be false ----

HARD = {
    "singular, b outside the range": (np.diag([1.0, 2.0, 0.0]), np.array([1.0, 1.0, 1.0])),
    "singular, b inside the range": (np.diag([1.0, 2.0, 0.0]), np.array([1.0, 1.0, 0.0])),
    "zero matrix": (np.zeros((4, 4)), np.ones(4)),
    "Hilbert": (1.0 / (np.arange(12)[:, None] + np.arange(12) + 1.0), np.ones(12)),
    "nearly singular": (np.array([[1.0, 1.0], [1.0, 1.0 + 4 * EPS]]), np.array([1.0, -1.0])),
    "scales": (np.diag(10.0 ** np.arange(-15.0, 16.0, 3.0)), np.ones(11)),
    "indefinite": (np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 2.0])),
    "nilpotent": (np.diag(np.ones(5), 1), np.ones(6)),
}


@pytest.mark.parametrize("function", SQUARE)
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("rtol", [1e-3, 1e-10, 1e-16, 0.0])
@pytest.mark.filterwarnings("ignore:not solved")
def test_no_false_success(function, name, scale, rtol):
    """In the manner of cupy's issues 7512 and 9790: b tiny or huge, singular and badly scaled matrices."""
    A, b = HARD[name][0], HARD[name][1] * scale
    x, info = function(A, b, rtol=rtol, maxiter=200)
    assert x.shape == b.shape
    if info == 0:
        assert true_residual(A, x, b) <= rtol * (1 + 8 * EPS) + 2.0 ** -60


@pytest.mark.parametrize("function", SQUARE)
@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-200, 1e200])
@pytest.mark.filterwarnings("ignore:not solved")
def test_matrices_at_the_ends_of_the_range(function, value):
    A, b = value * laplacian(6).toarray(), np.ones(6)
    with np.errstate(all="ignore"):
        x, info = function(A, b, rtol=1e-8, maxiter=100)
        if info == 0:
            assert true_residual(A, x, b) <= 1e-8 * (1 + 8 * EPS)


@pytest.mark.filterwarnings("ignore:not solved")
def test_not_finite_is_never_success():
    for bad in (np.nan, np.inf):
        A = laplacian(5).toarray()
        A[2, 2] = bad
        for function in SQUARE:
            assert function(A, np.ones(5), maxiter=50)[1] != 0
            assert function(laplacian(5), np.array([1.0, bad, 1.0, 1.0, 1.0]), maxiter=50)[1] != 0
