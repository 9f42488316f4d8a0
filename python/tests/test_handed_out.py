# SPDX-License-Identifier: Apache-2.0
"""
The x that is handed out decides: its type is SciPy's, and its residual, in long double and in rational numbers, is what
`info`, `converged` and `verified` tell, for all types of A and b.
"""
import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as theirs

import tessera_sparse as ts

KINDS = ("float16", "float32", "float64", "longdouble", "int32", "int64", "bool")
ITERATIVE = ("cg", "bicgstab", "gmres", "minres")
pytestmark = pytest.mark.filterwarnings("ignore:x in float32:RuntimeWarning", "ignore:A or b:RuntimeWarning")


def chain(n, kind="float64"):
    """Condition some 400 for n from 60 on: rounding x to float32 leaves a relative residual near 1e-6."""
    A = sp.diags_array([-np.ones(n - 1), 2.01 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return A.tocsr().astype(kind)


def relative_residual(A, x, b):
    """In long double, with no product rounded to less."""
    A, b = sp.coo_array(A), np.asarray(b, np.longdouble)
    product = np.zeros(A.shape[0], np.longdouble)
    np.add.at(product, A.coords[0], A.data.astype(np.longdouble) * np.asarray(x, np.longdouble)[A.coords[1]])
    return float(np.linalg.norm((b - product).astype(float)) / np.linalg.norm(b.astype(float)))


@pytest.mark.parametrize("name", ITERATIVE)
def test_types_of_x_are_scipys(name):
    for of_a, of_b in itertools.product(KINDS, KINDS):
        A = (np.eye(3) if of_a == "bool" else chain(3).toarray()).astype(of_a)
        b = np.ones(3, of_b)
        x = getattr(ts, name)(A, b)[0]
        expected = getattr(theirs, name)(A, b)[0].dtype
        assert x.dtype == (np.float64 if expected == np.longdouble else expected), (of_a, of_b)


def test_types_of_spsolve_are_scipys():
    for of_a, of_b in itertools.product(("float32", "float64", "int32", "int8", "bool"), KINDS):
        A = sp.csr_array(np.eye(3)).astype(of_a)
        if of_b == "longdouble":  # SciPy refuses
            assert ts.spsolve(A, np.ones(3, of_b)).dtype == np.float64
        else:
            assert ts.spsolve(A, np.ones(3, of_b)).dtype == theirs.spsolve(A, np.ones(3, of_b)).dtype, (of_a, of_b)


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-10])
@pytest.mark.parametrize("of_b", ["float16", "float32", "float64"])
@pytest.mark.parametrize("of_a", ["float32", "float64"])
def test_claims(of_a, of_b, rtol):
    A, b = chain(300, of_a), np.ones(300, of_b)
    operator = theirs.LinearOperator(A.shape, matvec=lambda x: A.astype(float) @ x, dtype=A.dtype)
    for name in ("cg", "minres", "bicgstab", "gmres", "fgmres", "idrs"):
        for given in (A, operator):
            x, info = getattr(ts, name)(given, b, rtol=rtol)
            if of_a == of_b == "float32" and rtol < 1e-6 and name != "minres":
                assert x.dtype == np.float32 and info > 0, name
            else:
                assert info == 0 and relative_residual(A, x, b) <= rtol * (1 + 1e-9), name
    result = ts.solve(A, b, rtol=rtol)
    assert abs(result.relative_residual - relative_residual(A, result.x, b)) <= 1e-3 * rtol
    assert result.verified == (of_a == "float64" or of_b != "float32" or rtol > 1e-6)


def test_a_lost_tolerance_is_told():
    A, b = chain(300, "float32"), np.ones(300, "float32")
    with pytest.warns(RuntimeWarning, match="x in float32 holds a relative residual of .*float64") as record:
        result = ts.solve(A, b, rtol=1e-10)
    assert record[0].filename == __file__
    assert not result.converged and result.reason == "false_convergence" and "float32" in result.reason_text
    assert "float32" in repr(result) and result.rtol == 1e-10
    with pytest.raises(ts.ConvergenceError, match="float32"):
        ts.spsolve(A, b, rtol=1e-10)
    assert ts.solve(A, b.astype(float), rtol=1e-10).verified


def test_columns_and_solver():
    A = chain(300, "float32")
    b = np.stack([np.ones(300), np.eye(300)[0]], axis=1).astype("float32")
    solver = ts.Solver(A, solver="cg", rtol=1e-5)
    for _ in range(2):  # the tolerances are the caller's again after each solve
        result = solver.solve(b)
        assert result.x.dtype == np.float32 and result.verified
        for j, column in enumerate(result.columns):
            assert column.relative_residual == pytest.approx(relative_residual(A, result.x[:, j], b[:, j]), rel=1e-3)
    solver.set_limits(rtol=1e-10)
    assert not solver.solve(b).converged
    assert not any(column.verified for column in solver.solve(b).columns)
    assert solver.solve(b.astype(float)).verified


def exact_residual_square(A, x, b):
    rows = [[Fraction(int(v)) if A.dtype.kind in "iu" else Fraction(float(v)) for v in row] for row in A]
    return sum((Fraction(int(b[i])) - sum(a * Fraction(float(v)) for a, v in zip(row, x))) ** 2
               for i, row in enumerate(rows))


def test_integers_beyond_float64():
    """2^53 + 1 is no FP64 number: a residual of the rounded system is no proof, but with a bound on what was lost."""
    for A in ([[2**60 + 1, 2**59 + 1], [1, 2**60 + 1]], [[4, 1], [1, 3]]):
        A, b = np.array(A, dtype=np.int64), np.array([2**60 + 1, 2**59 + 1], dtype=np.int64)
        result = ts.solve(A, b, rtol=1e-10)
        norm = float(exact_residual_square(A, result.x, b)) ** 0.5
        assert result.verified and norm <= result.residual_norm + result.residual_bound
        assert result.residual_bound > 1  # the two ones of b
    with pytest.warns(RuntimeWarning, match="not exact in float64"):
        assert not ts.solve(np.eye(2), b, rtol=0, atol=0.5).verified


def test_long_doubles():
    A, b = chain(20).toarray().astype(np.longdouble), np.ones(20, np.longdouble) / 3
    result = ts.solve(A, b, rtol=1e-12)
    assert result.verified and result.x.dtype == np.float64
    assert relative_residual(A, result.x, b) <= 1e-12


def test_no_iteration_is_no_success():
    A, b = chain(50), np.ones(50)
    good = np.linalg.solve(A.toarray(), b)
    for name in ("cg", "bicgstab", "gmres", "minres", "fgmres", "idrs"):
        x, info = getattr(ts, name)(A, b, maxiter=0)
        assert info > 0 and not np.any(x), name
        assert getattr(ts, name)(A, b, good, maxiter=0)[1] == 0, name


@pytest.mark.parametrize("count", [1, 2, 5, 10])
def test_the_last_iterate(count):
    """Truncated CG, as Newton-CG needs it: x after `count` steps is SciPy's."""
    n = 20
    T = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A, b = (sp.kron(sp.eye_array(n), T) + sp.kron(T, sp.eye_array(n))).tocsr(), np.ones(n * n)
    expected, info = theirs.cg(A, b, maxiter=count, rtol=1e-10)
    x, ours = ts.cg(A, b, maxiter=count, rtol=1e-10)
    assert info == ours == count
    assert np.linalg.norm(x - expected) <= 1e-12 * np.linalg.norm(expected)
    result = ts.solve(A, b, solver="cg", max_iterations=count, rtol=1e-10, last_iterate=True)
    assert np.array_equal(result.x, x) and result.reason == "iterations" and not result.converged
    assert result.relative_residual == pytest.approx(relative_residual(A, x, b))
    best = ts.solve(A, b, solver="cg", max_iterations=count, rtol=1e-10)
    assert best.relative_residual <= min(1.0, result.relative_residual)


@pytest.mark.parametrize("count", [1, 2, 5, 10])
@pytest.mark.parametrize("name", ITERATIVE)
def test_few_iterations_are_scipys(name, count):
    """Of each method, from an initial guess, for a symmetric and an unsymmetric matrix."""
    n, rng = 15, np.random.default_rng(count)
    T = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = (sp.kron(sp.eye_array(n), T) + sp.kron(T, sp.eye_array(n))).tocsr()
    b, x0 = rng.standard_normal((2, n * n))
    limit = {"maxiter": 1, "restart": count} if name == "gmres" else {"maxiter": count}
    wind = sp.kron(sp.eye_array(n), sp.diags_array([np.ones(n - 1)], offsets=[1])).tocsr()
    for B in (A, A + 0.3 * wind) if name in ("bicgstab", "gmres") else (A,):
        expected, info = getattr(theirs, name)(B, b, x0, rtol=1e-12, **limit)
        x, ours = getattr(ts, name)(B, b, x0, rtol=1e-12, **limit)
        assert info == ours == limit["maxiter"]
        assert np.linalg.norm(x - expected) <= 1e-11 * np.linalg.norm(expected)
        last = ts.solve(B, b, x0, solver=name, max_iterations=count, rtol=1e-12, last_iterate=True)
        assert np.linalg.norm(last.x - expected) <= 1e-11 * np.linalg.norm(expected)


def neumann(m):
    T = sp.diags_array([-np.ones(m - 1), np.r_[1, 2 * np.ones(m - 2), 1], -np.ones(m - 1)], offsets=[-1, 0, 1])
    return sp.csr_array(sp.kron(sp.eye_array(m), T) + sp.kron(T, sp.eye_array(m)))


@pytest.mark.parametrize("eps", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("name", ["minres", "cg", "bicgstab", "gmres"])
def test_least_residuals_of_b_off_the_range(name, eps):
    """b misses the range by eps times the ones: x has the least residual, and is that of b without it."""
    m = 40
    L, rng = neumann(m), np.random.default_rng(0)
    exact = rng.standard_normal(m * m)
    exact -= exact.mean()
    b = L @ exact + eps
    x, info = getattr(ts, name)(L, b, rtol=1e-14, maxiter=3000)
    assert info == -101 and relative_residual(L, x, b) <= 1.01 * eps * m / np.linalg.norm(b)
    assert np.linalg.norm(x - x.mean() - exact) <= (0.02 * eps + 1e-11) * m * np.linalg.norm(exact)
    result = ts.solve(L, b, rtol=1e-14)
    assert result.reason == "stagnation" and "the columns of A sum to 0, and b does not" in result.why


def test_a_breakdown_hands_out_the_best():
    """CG on an indefinite matrix: not the last x, whose residual is larger than b."""
    A, b = ts.Matrix.gallery("laplace2d", 20).to_scipy() - 0.1 * sp.eye_array(400), np.ones(400)
    x, info = ts.cg(A, b)
    assert info == -10 and relative_residual(A, x, b) <= 1
    last = ts.solve(A, b, solver="cg", precond="none", last_iterate=True)
    assert last.reason == "indefinite_matrix" and last.relative_residual > 1


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_damping_pulls_to_the_start(name):
    """min ||A x - b||^2 + damp^2 ||x - x0||^2, as in SciPy."""
    A, b = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    start = np.array([10.0, -10.0])
    expected = start + np.linalg.lstsq(np.vstack([A, 2 * np.eye(2)]), np.append(b - A @ start, [0, 0]), rcond=None)[0]
    given = getattr(theirs, name)(A, b, damp=2.0, x0=start, atol=1e-12, btol=1e-12)[0]
    result = getattr(ts, name)(A, b, damp=2.0, x0=start, atol=1e-12, btol=1e-12)
    assert np.allclose(expected, [8.0943396, -4.5660377]) and np.allclose(given, expected)
    assert np.allclose(result[0], expected, rtol=1e-9) and result[1] == 2
    if name == "lsqr":
        both = np.linalg.norm(A @ expected - b), 2 * np.linalg.norm(expected - start)
        assert result[4] == pytest.approx(np.hypot(*both))
