# SPDX-License-Identifier: Apache-2.0
"""Rows of very different size: what a result knows of the small ones, when it is verified, and who is told."""
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import tessera_sparse as ts

SIZE = 12


def held(penalty=1e30, kind="float64"):
    """A rod whose ends are held at 1 and 3 by a penalty; x is a line."""
    n = SIZE
    A = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tolil()
    A[0, 0] = A[n - 1, n - 1] = penalty
    b = np.zeros(n)
    b[0], b[-1] = penalty, 3 * penalty
    return A.tocsr().astype(kind), b.astype(kind)


LINE = np.linspace(1, 3, SIZE)


def close(x, tolerance=1e-3):
    return bool(np.linalg.norm(x - LINE) <= tolerance * np.linalg.norm(LINE))


def scaled(A, x, b):
    """The relative residual with rows scaled to one size."""
    largest = abs(A).max(axis=1).toarray().reshape(-1).astype(float)
    return np.linalg.norm((b - A.astype(float) @ x) / largest) / np.linalg.norm(b / largest)


def test_a_named_method_warns_and_is_not_verified():
    A, b = held()
    with pytest.warns(RuntimeWarning, match='wanted is 1.0e-05.*stop_norm="both"') as record:
        result = ts.solve(A, b, solver="cg")
    assert len(record) == 1 and record[0].filename == __file__
    assert result.converged and not result.verified and not close(result.x)
    assert result.stop_norm == "given" and result.rows["met"] is False
    assert result.rows["relative"] == pytest.approx(scaled(A, result.x, b), rel=1e-6)
    assert "rows scaled to one size" in repr(result) and "stop norm" not in repr(result)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres", "minres", "idrs"])
def test_scipys_functions_warn(name):
    A, b = held()
    with pytest.warns(RuntimeWarning, match="stop_norm"):
        x, info = getattr(ts, name)(A, b)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1e-5 * np.linalg.norm(b)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_least_squares(name):
    """Rows of a square system warn; weights of a system of another shape are the caller's."""
    A, b = held()
    with pytest.warns(RuntimeWarning, match="scale the rows"):
        assert getattr(ts, name)(A, b)[1] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(ts, name)(sp.vstack([A, A]), np.append(b, b))[1] == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["float64", "float32", "longdouble"])
@pytest.mark.parametrize("options", [{}, {"solver": "cg", "precond": "jacobi", "stop_norm": "both"},
                                     {"solver": "cg", "precond": "jacobi", "stop_norm": "rows"}])
def test_both_norms_solve_all_rows(options, kind):
    """No warning, also for an x in float32 and for long doubles whose rounding to FP64 counts by rows."""
    A, b = held(kind=kind)
    if kind == "longdouble":
        A, b = A / np.longdouble(3), b / np.longdouble(3)
    result = ts.solve(A, b, **options)
    assert result.verified and close(result.x) and result.rows["met"] is True
    assert result.rows["relative"] == pytest.approx(scaled(A, result.x, b), rel=1e-2, abs=1e-15)
    assert f"stop norm   {result.stop_norm}" in repr(result) and result.stop_norm == options.get("stop_norm", "both")


@pytest.mark.filterwarnings("error")
def test_given_on_request_is_no_surprise():
    A, b = held()
    result = ts.solve(A, b, solver="cg", stop_norm="given")
    assert result.converged and not result.verified


@pytest.mark.parametrize("options", [{}, {"solver": "cg"}, {"solver": "gmres"}])
def test_spsolve_has_no_wrong_x(options):
    A, b = held()
    try:
        assert close(ts.spsolve(A, b, rtol=1e-8, **options), 1e-6)
    except ts.ConvergenceError as error:
        assert options and "scaled rows" in str(error) and not error.result.verified
    with pytest.raises(ts.ConvergenceError), pytest.warns(RuntimeWarning, match="scale the rows"):
        ts.spsolve(A, b, rtol=1e-8, solver="lsqr", max_iterations=1)


def test_float32_is_judged_by_rows():
    """x meets 1e-7 as given, and the norm of scaled rows is what float32 cannot hold."""
    A, b = held(1e6, "float32")
    with pytest.warns(RuntimeWarning, match="x in float32 holds a relative residual with rows scaled to one size of"):
        result = ts.solve(A, b, rtol=5e-8)
    assert not result.converged and result.relative_residual <= 5e-8 < result.rows["relative"]
    assert result.rows["relative"] == pytest.approx(scaled(A, result.x.astype(float), b), rel=1e-3)


def test_columns_and_the_last_iterate():
    A, b = held()
    with pytest.warns(RuntimeWarning, match="stop_norm") as record:
        result = ts.Solver(A, solver="cg").solve(np.stack([np.eye(SIZE)[5], b], axis=1))
    assert len(record) == 1 and not result.verified and not result.columns[1].verified and result.columns[1].converged
    L = sp.diags_array([-np.ones(99), 2 * np.ones(100), -np.ones(99)], offsets=[-1, 0, 1]).tocsr()
    last = ts.solve(L, np.ones(100), solver="cg", max_iterations=5, return_last=1)
    assert np.array_equal(last.x, ts.solve(L, np.ones(100), solver="cg", max_iterations=5, last_iterate=True).x)
    assert last.rows["relative"] == pytest.approx(scaled(L, last.x, np.ones(100)))
