# SPDX-License-Identifier: Apache-2.0
"""Batches of systems of one pattern: each against its own residual, arrays of all kinds, and what is refused."""
import numpy as np
import pytest
import tessera_sparse as ts

sparse = pytest.importorskip("scipy.sparse")
SIDE, N, M = 12, 144, 5


def batch(m=M):
    """(pattern, values, B): the Laplacian times 1, 2, ..., with more on the diagonal of each."""
    A = ts.Matrix.gallery("laplace2d", SIDE).to_scipy()
    values = np.array([(A * (s + 1) + sparse.identity(N) * s).tocsr().data for s in range(m)])
    return A, values, np.random.default_rng(3).standard_normal((m, N))


def check(A, values, B, result, rtol):
    """The residuals by NumPy: their own rounding is far below 1e-3 of the tolerance."""
    for s in range(len(B)):
        own = sparse.csr_matrix((values[s], A.indices, A.indptr), A.shape)
        norm = np.linalg.norm(B[s] - own @ result.x[s])
        assert norm <= rtol * np.linalg.norm(B[s]) * 1.001 and result.verified[s] and result.reason[s] == "rtol"
        assert abs(norm - result.residual_norm[s]) <= 1e-3 * rtol * np.linalg.norm(B[s])


@pytest.mark.parametrize("options", [{}, {"solver": "cg"}, {"solver": "bicgstab", "precond": "jacobi"},
                                     {"solver": "gmres", "precond": "ilu0", "restart": 10}])
def test_each_system_is_solved_and_verified(options):
    A, values, B = batch()
    result = ts.solve_batch(A, values, B, rtol=1e-10, **options)
    check(A, values, B, result, 1e-10)
    assert set(result.solver) == {options.get("solver", "cg")} and (result.iterations > 0).all()
    assert (result.relative_residual * result.rhs_norm <= result.residual_norm * (1 + 1e-15)).all()
    assert len(result) == M and "5 of 5 systems verified" in repr(result)
    assert (ts.solve_batch(A, values, B, result.x, rtol=1e-9, **options).iterations == 0).all()


def test_arrays_of_other_kinds():
    A, values, B = batch()
    expected = ts.solve_batch(A, values, B, rtol=1e-8)
    for given in (A.indices.astype(np.uint16), A.indptr.tolist()), (A.indices.astype(np.int64), A.indptr):
        again = ts.solve_batch(given, values.tolist(), np.asfortranarray(B), rtol=1e-8)
        assert np.array_equal(again.x, expected.x)
    rounded = values.astype(np.float32)
    check(A, rounded.astype(float), B, ts.solve_batch(A, rounded, B, rtol=1e-8), 1e-8)
    wide = np.zeros((M, 2 * N))
    wide[:, ::2] = B
    assert np.array_equal(ts.solve_batch(A, values, wide[:, ::2], rtol=1e-8).x, expected.x)
    before = expected.x.copy()
    ts.solve_batch(A, values, B, before, rtol=1e-12)
    assert np.array_equal(before, expected.x)  # the guesses stay


def test_unsorted_columns_are_sorted_with_their_values():
    A, values, B = batch()
    order = np.concatenate([np.arange(A.indptr[i], A.indptr[i + 1])[::-1] for i in range(N)])
    result = ts.solve_batch((A.indices[order], A.indptr), values[:, order], B, rtol=1e-10)
    check(A, values, B, result, 1e-10)


def test_a_bad_system_has_its_own_reason():
    A, values, B = batch()
    good = ts.solve_batch(A, values, B, solver="cg", precond="jacobi")
    values[1, 3] = np.nan
    values[2, A.indptr[7] + np.flatnonzero(A.indices[A.indptr[7]:A.indptr[8]] == 7)[0]] = 0.0
    bad = ts.solve_batch(A, values, B, solver="cg", precond="jacobi")
    assert bad.reason.tolist() == ["rtol", "nan_or_inf", "precond_setup", "rtol", "rtol"]
    assert bad.verified.tolist() == [True, False, False, True, True]
    for s in 0, 3, 4:
        assert np.array_equal(bad.x[s], good.x[s])
    late = ts.solve_batch(A, values, B, time_limit=1e-9)
    assert set(late.reason) == {"time_limit"} and np.isnan(late.residual_norm).all() and not late.x.any()


def test_factors_take_fewer_iterations_and_need_a_diagonal():
    A, values, B = batch()
    alone = ts.solve_batch(A, values, B, solver="cg", rtol=1e-10)
    factored = ts.solve_batch(A, values, B, solver="cg", precond="ilu0", rtol=1e-10)
    check(A, values, B, factored, 1e-10)
    assert (2 * factored.iterations < alone.iterations).all()
    with pytest.raises(ts.TesseraError, match="row 1 of a batch's pattern has no diagonal entry"):
        ts.solve_batch(([0, 0], [0, 1, 2]), [[1.0, 1.0]], [[1.0, 1.0]], precond="ilu0")


def test_empty_batches():
    A, values, B = batch()
    none = ts.solve_batch(A, values[:0], B[:0])
    assert len(none) == 0 and none.x.shape == (0, N) and "0 of 0" in repr(none)
    assert ts.solve_batch(([], [0]), np.zeros((2, 0)), np.zeros((2, 0))).verified.all()


@pytest.mark.parametrize("change, error, words", [
    (lambda A, v, B: (A.tocoo(), v, B), TypeError, "tocsr"),
    (lambda A, v, B: (A[:, :100], v, B), ValueError, "144 by 100"),
    (lambda A, v, B: (A, v[0], B), ValueError, r"values has the shape \(672,\); wanted is \(m, 672\)"),
    (lambda A, v, B: (A, v[:, 1:], B), ValueError, r"wanted is \(m, 672\)"),
    (lambda A, v, B: (A, v, B[:3]), ValueError, r"B has the shape \(3, 144\); wanted is \(5, 144\)"),
    (lambda A, v, B: (A, v * 1j, B), TypeError, "complex"),
    (lambda A, v, B: ((A.indices * 1.0, A.indptr), v, B), TypeError, "whole numbers"),
    (lambda A, v, B: ((A.indices, A.indptr[:0]), v, B), ValueError, "indptr of the pattern is empty"),
    (lambda A, v, B: ((A.indices * 0, A.indptr), v, B), ts.TesseraError, "row 0"),
    (lambda A, v, B: ((A.indices, A.indptr[::-1]), v, B), ts.TesseraError, "row 0"),
])
def test_wrong_arrays_are_refused(change, error, words):
    with pytest.raises(error, match=words):
        ts.solve_batch(*change(*batch()))


def test_wrong_options_are_refused():
    A, values, B = batch()
    with pytest.raises(ValueError, match=r"x0 has the shape \(2, 144\)"):
        ts.solve_batch(A, values, B, B[:2])
    with pytest.raises(NotImplementedError, match="solver minres"):
        ts.solve_batch(A, values, B, solver="minres")
    with pytest.raises(NotImplementedError, match="precond ic0"):
        ts.solve_batch(A, values, B, precond="ic0")
    with pytest.raises(NotImplementedError, match="the option restart"):
        ts.solve_batch(A, values, B, solver="cg", restart=20)
    with pytest.raises(TypeError, match="engine"):
        ts.solve_batch(A, values, B, engine="plain")


def test_torch_and_jax_arrays_come_back_as_they_came():
    A, values, B = batch()
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    result = ts.solve_batch(A, jax.numpy.asarray(values), jax.numpy.asarray(B), rtol=1e-10)
    assert isinstance(result.x, jax.Array)
    check(A, values, B, result, 1e-10)
