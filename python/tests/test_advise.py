# SPDX-License-Identifier: Apache-2.0
"""ts.advise: what a solve tries, before it tries."""
import numpy as np
import pytest

import tessera_sparse as ts


@pytest.mark.parametrize("name, arguments", [("laplace2d", (20,)), ("laplace2d", (160,)), ("bentpipe2d", (40,)),
                                             ("hilbert", (8,))])
def test_a_solve_follows_the_advice(name, arguments):
    matrix = ts.Matrix.gallery(name, *arguments)
    advised, made = ts.advise(matrix), ts.solve(matrix, np.ones(matrix.shape[0])).attempts
    assert 0 < len(made) <= len(advised) and advised[-1].last
    for told, done in zip(advised, made):
        assert (told.solver, told.precond, told.factors, told.scale) == (
            done.solver, done.precond, done.factors, done.scale)
        assert told.why and not told.open and told.solver in repr(told)


def test_options_change_the_list():
    matrix = ts.Matrix.gallery("laplace2d", 20)
    assert {attempt.precond for attempt in ts.advise(matrix, precond="ic0")} == {"ic0"}
    assert [attempt.solver for attempt in ts.advise(matrix, solver="gmres")] == ["gmres"]
    assert [attempt.solver for attempt in ts.advise(np.ones((2, 3)))] == ["lsmr"]
    assert ts.advise([[np.nan]]) == []
    with pytest.raises(TypeError, match="sovler"):
        ts.advise(matrix, sovler="cg")


@pytest.mark.parametrize("A, options", [(np.ones((3, 2)), {"precond": "ilu0"}), (np.ones((3, 2)), {"precond": "amg"}),
                                        (np.ones((3, 2)), {"stop_norm": "rows"}), (np.ones((3, 2)), {"scale": "rows"}),
                                        (np.eye(3), {"format": "csr", "sell_window": 64}),
                                        (np.eye(3), {"solver": "jacobi", "format": "dia"})])
def test_advice_refuses_what_a_solve_refuses(A, options):
    with pytest.raises(ts.TesseraError) as by_solve:
        ts.solve(A, np.ones(3), **options)
    with pytest.raises(ts.TesseraError) as by_advice:
        ts.advise(A, **options)
    assert str(by_advice.value) == str(by_solve.value)
