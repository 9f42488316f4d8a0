# SPDX-License-Identifier: Apache-2.0
"""Several right-hand sides whose iterations read the matrix together: each column has what a solve of its own has."""
import numpy as np
import pytest
import tessera_sparse as ts

N = 400


def problem(columns=5):
    return ts.Matrix.gallery("laplace2d", 20), np.random.default_rng(1).standard_normal((N, columns))


def layouts(B):
    """The same values by rows, by columns, as slices, backwards, and at places that are no multiples of 8 bytes."""
    wide = np.full((2 * B.shape[0], 3 * B.shape[1]), np.nan)
    wide[::2, 1::3] = B
    packed = np.zeros(B.shape, dtype=np.dtype([("byte", "i1"), ("value", "f8")]))
    packed["value"] = B
    return [B, np.asfortranarray(B), wide[::2, 1::3], B[::-1, ::-1].copy()[::-1, ::-1], packed["value"],
            B.astype(">f8"), B.tolist()]


@pytest.fixture
def calls(monkeypatch):
    """How many columns each call of the library solved together."""
    from tessera_sparse import _solver
    counts, together = [], _solver.Solver._solve_together

    def counting(self, b, x0):
        counts.append(b.shape[1])
        return together(self, b, x0)
    monkeypatch.setattr(_solver.Solver, "_solve_together", counting)
    return counts


@pytest.mark.parametrize("method", ["cg", "minres", "bicgstab"])
def test_each_column_is_solved_and_described(method, calls):
    A, B = problem()
    result = ts.solve(A, B, solver=method, rtol=1e-10)
    assert calls == [5] and result.verified and result.x.shape == B.shape and len(result.columns) == 5
    for j, column in enumerate(result.columns):
        alone = ts.solve(A, B[:, j], solver=method, rtol=1e-10)
        assert column.verified and column.reason == "rtol"
        assert column.history.size == column.iterations + 1 and column.history[0] == pytest.approx(alone.history[0])
        assert abs(column.iterations - alone.iterations) <= 0.1 * alone.iterations + 1
        # two x with residuals below 1e-10 ||b||; 1 / lambda_min of this Laplace matrix is below 23
        assert np.linalg.norm(result.x[:, j] - alone.x) <= 2 * 23 * 1e-10 * np.linalg.norm(B[:, j])
        assert np.array_equal(column.x, result.x[:, j])


def test_layouts_make_no_difference(calls):
    A, B = problem()
    expected = ts.solve(A, B, solver="cg", rtol=1e-10).x
    for given in layouts(B):
        before = np.array(given)
        assert np.array_equal(ts.solve(A, given, solver="cg", rtol=1e-10).x, expected)
        assert np.array_equal(np.array(given), before)
    assert calls == [5] * (len(layouts(B)) + 1)
    few = ts.solve(A, np.broadcast_to(B[:, :1], (N, 3)), solver="cg", rtol=1e-10)
    assert np.array_equal(few.x[:, 0], few.x[:, 2]) and few.verified


def test_an_initial_guess_for_each_column(calls):
    A, B = problem()
    first = ts.solve(A, B, solver="cg", rtol=1e-10)
    again = ts.solve(A, B, np.asfortranarray(first.x), solver="cg", rtol=1e-9)
    assert calls == [5, 5] and [column.iterations for column in again.columns] == [0] * 5
    assert np.array_equal(again.x, first.x)
    assert ts.solve(A, B, first.x.tolist(), solver="cg", rtol=1e-9).columns[4].iterations == 0
    wrong = first.x[:10], first.x[:, 0], first.x[:, :1], first.x[:, :4], np.ones((N, 7)), first.x.T
    for method in "cg", "gmres":
        for x0 in wrong:
            with pytest.raises(ValueError, match="give x0 the shape of x"):
                ts.solve(A, B, x0, solver=method)
        with pytest.raises(ValueError, match=r"b has the shape \(10, 5\); the matrix has 400 rows"):
            ts.solve(A, B[:10], solver=method)
    for function in ts.cg, ts.gmres:
        with pytest.raises(ValueError, match="give x0 the shape of x"):
            function(A, B, x0=first.x[:, 0])


def test_shapes_that_are_no_columns():
    A, B = problem()
    solver = ts.Solver(A, solver="cg")
    for b in 1.0, np.array(1.0), B[:, :, None]:
        with pytest.raises(ValueError, match="wanted are 400 values, or columns of as many"):
            solver.solve(b)
    assert np.array_equal(A @ B.tolist(), A @ B)


def test_scipys_functions_and_float32(calls):
    A, B = problem()
    for function in ts.cg, ts.minres, ts.bicgstab:
        x, info = function(A, B, rtol=1e-8)
        assert info == 0 and x.shape == B.shape
    x, info = ts.cg(A, B, rtol=1e-8, maxiter=3)
    assert info == 3
    assert np.allclose(x[:, 1], ts.cg(A, B[:, 1], rtol=1e-8, maxiter=3)[0], rtol=1e-9)
    x, info = ts.cg(A.to_scipy().astype(np.float32), B.astype(np.float32), rtol=1e-5)
    assert info == 0 and x.dtype == np.float32 and x.shape == B.shape
    assert calls == [5] * 5


def test_auto_solves_the_first_column_alone(calls):
    A, B = problem(40)
    result = ts.solve(A, B, rtol=1e-10, choices="none")
    assert result.verified and calls == [39]
    assert all(column.why for column in result.columns)


def test_what_is_solved_one_after_another(calls):
    A, B = problem()
    seen = []
    assert ts.solve(A, B, solver="cg", monitor=seen.append).verified
    assert [p.iteration for p in seen].count(1) == 5
    assert ts.solve(A, B, solver="gmres").verified
    assert ts.solve(A, B[:, :1], solver="cg").x.shape == (N, 1)
    assert not calls


def test_products():
    A, B = problem(70)
    S = A.to_scipy()
    bound = 10 * np.finfo(float).eps * (abs(S) @ abs(B))
    for given in layouts(B)[:-1]:
        assert np.all(abs(A @ given - S @ B) <= bound)
    assert (A @ B[:, :0]).shape == (N, 0) and (A @ B[:, :1]).shape == (N, 1)
    assert np.all(abs(A @ B.astype(np.float32) - S @ B.astype(np.float32).astype(float)) <= 1.01 * bound)
    wide = ts.Matrix(np.arange(6.0).reshape(2, 3))
    assert np.array_equal(wide @ np.eye(3), np.arange(6.0).reshape(2, 3))
    with pytest.raises(ValueError):
        A @ B[:10]


def test_block_cg_takes_fewer_iterations(calls):
    A, B = problem(6)
    B[:, 2] = 2 * B[:, 0]
    B[:, 4] = 0
    block, cg = (ts.solve(A, B, solver=name, precond="jacobi", rtol=1e-10) for name in ("block-cg", "cg"))
    assert calls == [6, 6] and block.verified and block.solver == "block-cg"
    assert max(c.iterations for c in block.columns) < 0.9 * max(c.iterations for c in cg.columns)
    # two x with residuals below 1e-10 ||b||; 1 / lambda_min of this Laplace matrix is below 23
    assert (np.linalg.norm(block.x - cg.x, axis=0) <= 2 * 23 * 1e-10 * np.linalg.norm(B, axis=0)).all()
    alone = ts.solve(A, B[:, 0], solver="block-cg", precond="jacobi", rtol=1e-10)
    assert alone.iterations == ts.solve(A, B[:, 0], solver="cg", precond="jacobi", rtol=1e-10).iterations


@pytest.mark.parametrize("count", [1, 2, 9])
def test_what_a_preconditioner_raises_is_raised(count):
    def fails(r):
        raise KeyError("of the user")
    A = ts.Matrix.gallery("laplace3d27", 8)
    B = np.random.default_rng(0).standard_normal((512, count))
    for _ in range(2):
        with pytest.raises(KeyError, match="of the user"):
            ts.solve(A, B, solver="cg", precond=fails)
    assert ts.solve(A, B, solver="cg").verified
