# SPDX-License-Identifier: Apache-2.0
"""ts.verify: right and wrong answers, in arrays of all kinds."""
import importlib.util
import math

import numpy as np
import pytest

import tessera_sparse as ts

N = 20


def system():
    """(A, b, x): A x = b without rounding."""
    matrix = ts.Matrix.gallery("laplace2d", N)
    x = np.arange(1.0, N * N + 1.0)
    return matrix, matrix @ x, x


def rod(penalty=2.0**100):
    """A rod whose ends are held by a penalty, with an x that has no interior."""
    a = 2.0 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    a[0, 0] = a[4, 4] = penalty
    return a, np.array([penalty, 0.0, 0.0, 0.0, 3.0 * penalty]), np.array([1.0, 0.0, 0.0, 0.0, 3.0])


def test_the_norm_that_is_asked_for_decides():
    found = ts.verify(*rod())
    assert isinstance(found, ts.Verification) and found.given_met
    assert not found.met and not found and not found.rows["met"]
    assert found.rows["backward_error"] == 1.0 and found.rows["backward_row"] == 1
    assert [row["row"] for row in found.worst_rows] == [1, 3]
    assert sum(row["share"] for row in found.worst_rows) == pytest.approx(1.0)
    assert ts.verify(*rod(), norm="given").met and not ts.verify(*rod(), norm="rows").met
    assert ts.verify(*rod(), rows=1).worst_rows == found.worst_rows[:1]
    assert "NOT MET" in repr(found) and "(row 1)" in repr(found)


def test_exact_answers():
    matrix, b, x = system()
    found = ts.verify(matrix, b, x, rtol=0.0)
    assert found.met and found.residual_norm == 0.0 and found.residual_bound == 0.0 and found.worst_rows == []
    assert found.rows["backward_row"] == -1 and math.isnan(found.forward_error)
    assert found.solution_norm == pytest.approx(np.linalg.norm(x))
    assert "met" in repr(found)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "i8", "u1", ">f8"])
def test_values_are_taken_as_they_are(dtype):
    """An x of few bits is the same number in FP64; rounding is the caller's, and is seen."""
    matrix, b, _ = system()
    x = np.ones(N * N, dtype=dtype)
    assert ts.verify(matrix, matrix @ np.ones(N * N), x, rtol=0.0).met
    thirds = (np.ones(N * N) / 3.0).astype(dtype)
    wanted = matrix @ (np.ones(N * N) / 3.0)
    found = ts.verify(matrix, wanted, thirds, rtol=1e-12)
    assert found.met == (np.dtype(dtype).itemsize == 8 and np.dtype(dtype).kind == "f")


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_arrays_of_other_libraries(library):
    if importlib.util.find_spec(library) is None:
        pytest.skip("needs " + library)
    matrix, b, x = system()
    if library == "torch":
        import torch
        wrap = torch.from_numpy
    else:
        import jax
        jax.config.update("jax_enable_x64", True)
        wrap = jax.numpy.asarray
    assert ts.verify(matrix, wrap(b), wrap(x), rtol=0.0).met
    assert ts.verify(matrix, b, wrap(x), rtol=0.0).met
    assert not ts.verify(matrix, wrap(b), wrap(x + 1.0)).met


def test_matrices_of_other_kinds():
    sparse = pytest.importorskip("scipy.sparse")
    matrix, b, x = system()
    for kind in (matrix.to_scipy(), matrix.to_scipy().tocoo(), matrix.to_scipy().tocsc(), matrix.to_scipy().toarray()):
        assert ts.verify(kind, b, x, rtol=0.0).met
    rectangle = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    assert ts.verify(rectangle, [1.0, 4.0, 3.0], [1.0, 2.0], rtol=0.0).met
    assert not ts.verify(rectangle, [1.0, 4.0, 5.0], [1.0, 2.0], accuracy=True).met


def test_operators_have_no_rows():
    linalg = pytest.importorskip("scipy.sparse.linalg")
    operator = linalg.LinearOperator((3, 3), matvec=lambda v: 2.0 * v, dtype=np.float64)
    found = ts.verify(operator, np.full(3, 2.0), np.ones(3))
    assert not found.met and found.residual_norm == 0.0 and math.isnan(found.rows["norm"]) and found.worst_rows == []
    bounded = ts.Matrix(operator, error_bound=lambda v: 0.0)
    assert ts.verify(bounded, np.full(3, 2.0), np.ones(3), norm="given").met


def test_columns():
    matrix, b, x = system()
    several, right = np.stack([x, x + 1.0, x], axis=1), np.stack([b, b, b], axis=1)
    for given in (b, b[:, None], right):
        found = ts.verify(matrix, given, several)
        assert [column.met for column in found.columns] == [True, False, True] and not found.met
        assert found.relative_residual == found.columns[1].relative_residual
        assert "3, 2 met" in repr(found)
    assert ts.verify(matrix, np.asfortranarray(right), np.asfortranarray(several[:, [0, 0, 2]])).met
    assert len(ts.verify(matrix, b, x[:, None]).columns) == 1


def test_nan_is_never_met():
    matrix, b, x = system()
    bad = x.copy()
    bad[7] = np.nan
    found = ts.verify(matrix, b, bad, rtol=1.0)
    assert not found.met and found.nonfinite_solution == 7 and found.worst_rows[0]["row"] in (6, 7)
    assert "NaN or Inf, first in row 7" in repr(found)
    bad[7] = np.inf
    assert ts.verify(matrix, b, bad).nonfinite_solution == 7
    assert ts.verify(matrix, bad, x).nonfinite_rhs == 7


def test_forward_error():
    matrix, b, x = system()
    wrong = x.copy()
    wrong[100] += 1e-3
    found = ts.verify(matrix, b, wrong, accuracy=True)
    if math.isnan(found.forward_error):
        pytest.skip("this build has no complete factors")
    assert found.forward_error == pytest.approx(1e-3 / np.linalg.norm(wrong), rel=0.2)
    singular = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert math.isnan(ts.verify(singular, [2.0, 2.0], [2.0, 0.0], accuracy=True).forward_error)


def test_wrong_requests():
    matrix, b, x = system()
    with pytest.raises(ValueError, match="norm"):
        ts.verify(matrix, b, x, norm="preconditioned")
    with pytest.raises(ValueError, match="wanted are 400"):
        ts.verify(matrix, b[1:], x)
    with pytest.raises(ValueError, match="x has the shape"):
        ts.verify(matrix, b, np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="2 columns and x has 1"):
        ts.verify(matrix, np.stack([b, b], axis=1), x)
    with pytest.raises(ts.TesseraValueError):
        ts.verify(matrix, b, x, rtol=-1.0)


def test_columns_share_passes():
    """splu verifies all columns at once: as many bits as one after another, in any order of memory."""
    from tessera_sparse._verify import tolerances, verify_columns
    rng, matrix = np.random.default_rng(4), ts.Matrix.gallery("recirc2d", 30)
    x = rng.standard_normal((900, 11))
    b = np.asfortranarray(matrix @ x + 1e-7 * rng.standard_normal((900, 11)))
    options = tolerances(1e-6, 0, "both", False)
    for left, right in ((b, x), (b[:, ::2], x[:, ::2]), (b[:, :1], x)):
        together = verify_columns(matrix, left, right, options)
        for j, found in enumerate(together):
            alone = ts.verify(matrix, left[:, min(j, left.shape[1] - 1)], right[:, j], rtol=1e-6)
            assert found.residual_norm == alone.residual_norm
            assert found.rows.backward_error == alone.rows["backward_error"]
            assert bool(found.met) is alone.met
    assert len(verify_columns(matrix, b[:, :0], x[:, :0])) == 0
