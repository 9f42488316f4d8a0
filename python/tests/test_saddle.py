# SPDX-License-Identifier: Apache-2.0
"""Saddle points from Python: the rows of the second block, a matrix for the Schur complement, refusals."""
import numpy as np
import pytest

import tessera_sparse as ts

K = 12
UNKNOWNS, ROWS = 2 * K * (K - 1), 2 * K * (K - 1) + K * K - 1


def flow():
    return ts.Matrix.gallery("stokes2d", K)


def iterations(A, **options):
    result = ts.solve(A, np.ones(ROWS), **{"solver": "fgmres", "precond": "saddle", "rtol": 1e-8, **options})
    assert result.verified
    return result.iterations


@pytest.mark.parametrize("index", [np.arange(UNKNOWNS, ROWS), list(range(ROWS - 1, UNKNOWNS - 1, -1)),
                                   np.arange(UNKNOWNS, ROWS, dtype=np.int32)])
def test_an_index_gives_what_the_diagonal_shows(index):
    assert iterations(flow(), saddle_index=index) == iterations(flow())


def test_an_object_takes_the_same():
    A = flow()
    M = ts.saddle(A, saddle_index=np.arange(UNKNOWNS, ROWS), schur_precondition="lsc")
    assert ts.solve(A, np.ones(ROWS), solver="fgmres", precond=M, rtol=1e-8).verified


def test_parts():
    A = flow()
    parts = ts.saddle(A).saddle
    assert (parts["unknowns"], parts["constraints"]) == (UNKNOWNS, ROWS - UNKNOWNS)
    assert parts["zero_diagonals"] == ROWS - UNKNOWNS and parts["index_given"] is False
    assert parts["a"]["precond"] == "amg" and parts["a"]["amg"]["levels"][0]["rows"] == UNKNOWNS
    assert parts["s"] == {"precond": "jacobi", "amg": None} and parts["schur"] == "local"
    solver = ts.Solver(A, solver="fgmres", precond="saddle", saddle_index=np.arange(UNKNOWNS, ROWS))
    assert solver.saddle["index_given"] and solver.saddle["factorization"] == "upper"
    with pytest.raises(ValueError, match="preconditioner jacobi has no blocks of a saddle point"):
        ts.jacobi(ts.Matrix.gallery("laplace2d", 5)).saddle


def test_schur_complements_and_factors():
    A = flow()
    assert iterations(A, schur_fact_type="full") <= iterations(A, schur_fact_type="diag")
    assert iterations(A, solver="minres") < 90
    mass = ts.Matrix(np.eye(ROWS - UNKNOWNS))
    assert iterations(A, schur_precondition="user", schur_matrix=mass) < 60
    assert iterations(A, schur_precondition="user", schur_matrix=np.eye(ROWS - UNKNOWNS)) < 60


@pytest.mark.parametrize("options, error, message", [
    ({"saddle_index": [ROWS]}, ts.TesseraValueError, "entry 0 of the index is row 407"),
    ({"saddle_index": [0.5]}, ValueError, "a list of integers"),
    ({"saddle_index": []}, ValueError, "a list of integers"),
    ({"saddle_index": [1], "precond": "ilu0"}, ValueError, "saddle_index is for precond='saddle'"),
    ({"schur_precondition": "user"}, ValueError, "go together"),
    ({"schur_matrix": np.eye(3), "schur_precondition": "user"}, ValueError, "schur_matrix has 3 rows"),
    ({"schur_matrix": np.full((ROWS - UNKNOWNS, ROWS - UNKNOWNS), np.nan), "schur_precondition": "user"}, ValueError,
     "schur_matrix holds nan in row 0, column 0"),
    ({"saddle_a_precond": "ilut"}, ValueError, "did you mean 'ilu0'"),
])
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        iterations(flow(), **options)


@pytest.mark.parametrize("M, A", [
    (ts.saddle, flow()),
    (lambda A: ts.Preconditioner(A, kind="amg", amg_restriction="air"), ts.Matrix.gallery("laplace2d", 30)),
])
def test_minres_takes_what_is_positive_definite(M, A):
    with pytest.raises(ts.TesseraValueError, match="needs a preconditioner that is positive definite"):
        ts.minres(A, np.ones(A.shape[0]), M=M(A))


def test_minres_takes_the_diagonal_blocks():
    A = flow()
    x, info = ts.minres(A, np.ones(ROWS), M=ts.saddle(A, schur_fact_type="diag"), rtol=1e-8)
    assert info == 0
    assert np.linalg.norm(A.to_scipy() @ x - 1.0) <= 1e-7 * np.sqrt(ROWS)


def test_rows_of_another_scale_are_unknowns():
    """Velocities of a small viscosity have a small diagonal, and stay unknowns where pressures have none."""
    A = flow()
    scale = np.concatenate([np.full(UNKNOWNS, 1e-4), np.ones(ROWS - UNKNOWNS)])
    dense = A @ np.eye(ROWS)
    small = ts.Matrix(scale[:, None] * dense[:, :] * np.where(np.arange(ROWS) < UNKNOWNS, 1e-4, 1.0))
    b = small @ np.ones(ROWS)
    given = ts.solve(small, b, solver="fgmres", precond="saddle", rtol=1e-6,
                     saddle_index=np.arange(UNKNOWNS, ROWS))
    found = ts.solve(small, b, solver="fgmres", precond="saddle", rtol=1e-6)
    assert found.iterations == given.iterations and found.reason == given.reason


def test_an_index_may_change_afterwards():
    A, index = flow(), np.arange(UNKNOWNS, ROWS)
    solver = ts.Solver(A, solver="auto", precond="saddle", saddle_index=index, rtol=1e-8)
    first = solver.solve(np.ones(ROWS))
    index[:] = 0
    solver.update_values(A.to_scipy().data)
    assert solver.solve(np.ones(ROWS)).iterations == first.iterations


def test_a_failed_set_up_says_why():
    result = ts.solve(flow(), np.ones(ROWS), solver="fgmres", precond="saddle", saddle_index=[0, 1, 2])
    assert result.reason == "precond_setup" and "saddle" in result.why and result.why in str(result)


@pytest.mark.parametrize("make", [ts.saddle, ts.isai, ts.ilut])
def test_what_is_not_symmetric_has_no_transpose(make):
    A = flow() if make is ts.saddle else ts.Matrix.gallery("laplace2d", 12)
    M = make(A)
    with pytest.raises(NotImplementedError, match="of a symmetric matrix is not symmetric, and has no transpose"):
        M.rmatvec(np.ones(M.shape[0]))
