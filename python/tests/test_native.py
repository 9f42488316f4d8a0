# SPDX-License-Identifier: Apache-2.0
"""Context, Matrix, Solver, Result, options, operators."""
import gc

import numpy as np
import pytest

import tessera_sparse as ts

scipy_sparse = pytest.importorskip("scipy.sparse")
from scipy.sparse.linalg import LinearOperator  # noqa: E402


def laplacian(n):
    return scipy_sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")


def close(A, x, b, rtol):
    """Within the tolerance, and what NumPy's own residual rounds: a few roundoffs of |A| |x|."""
    residual = np.linalg.norm(b - A @ x)
    slack = 8 * np.finfo(float).eps * (abs(A) @ abs(np.asarray(x, dtype=float))).max() * np.sqrt(len(b))
    return residual <= rtol * np.linalg.norm(b) + slack


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.longdouble])
def test_formats_and_types_of_scipy(form, dtype):
    if form == "dok" and dtype is np.longdouble:
        pytest.skip("SciPy's dok refuses it")
    A = laplacian(30).astype(dtype).asformat(form)
    b = np.arange(30.0)
    result = ts.solve(A, b, solver="cg", rtol=1e-10)
    assert result.verified and close(laplacian(30), result.x, b, 1e-10)


def test_spmatrix_and_dense_and_tuples():
    A = laplacian(12)
    b = np.ones(12)
    expected = np.linalg.solve(A.toarray(), b)
    for given in (scipy_sparse.csr_matrix(A), A.toarray(), A.toarray().tolist(), np.asfortranarray(A.toarray()),
                  (A.data, A.indices, A.indptr), (A.data, A.indices, A.indptr, (12, 12)),
                  (A.data.astype("f4"), A.indices.astype("i8"), A.indptr.astype("i8"))):
        assert np.allclose(ts.solve(given, b, rtol=1e-12).x, expected, rtol=1e-9)


def test_indices_of_64_bits():
    A = laplacian(20)
    wide = scipy_sparse.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert (ts.Matrix(wide).csr()[1] == A.indices).all()


def test_canonical_arrays_are_read_in_place_and_others_copied():
    A = laplacian(10)
    assert ts.Matrix(A).borrowed
    assert not ts.Matrix(A, copy=True).borrowed
    assert not ts.Matrix(A.astype("f4")).borrowed
    unsorted = scipy_sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])))
    matrix = ts.Matrix(unsorted)
    assert not matrix.borrowed
    assert (matrix.to_scipy().toarray() == [[2.0, 1.0], [0.0, 3.0]]).all()


def test_duplicates_are_summed():
    A = scipy_sparse.coo_array((np.array([1.0, 2.0, 5.0]), (np.array([0, 0, 1]), np.array([0, 0, 1]))), shape=(2, 2))
    assert (ts.Matrix(A).to_scipy().toarray() == [[3.0, 0.0], [0.0, 5.0]]).all()
    raw = ts.Matrix((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    assert (raw.to_scipy().toarray() == [[3.0, 0.0], [0.0, 5.0]]).all()


def test_arrays_live_as_long_as_the_matrix():
    n = 3000
    matrix = ts.Matrix(laplacian(n))
    gc.collect()
    junk = [np.full(n, 7.0) for _ in range(50)]
    assert (matrix @ np.ones(n))[1:-1].max() == 0.0 and junk


def test_objects_may_be_freed_in_any_order():
    for _ in range(3):
        matrix = ts.Matrix(laplacian(50))
        M = ts.ic0(matrix)
        solver = ts.Solver(matrix, solver="cg", precond=M)
        solver.cycle = [matrix, M, solver]
        assert solver.solve(np.ones(50)).verified
        del matrix, M, solver
        gc.collect()


def test_columns_share_one_set_up():
    A, B = laplacian(40), np.random.default_rng(1).standard_normal((40, 4))
    for given in (B, np.asfortranarray(B), B[:, ::-1][:, ::-1]):
        result = ts.solve(A, given, solver="cg", rtol=1e-10)
        assert result.x.shape == (40, 4) and len(result.columns) == 4 and result.verified
        for j in range(4):
            assert close(A, result.x[:, j], B[:, j], 1e-10)
    assert ts.solve(A, B[:, :1], solver="cg").x.shape == (40, 1)


def test_the_worst_column_speaks_for_all():
    A = scipy_sparse.csr_array(np.diag([1.0, 2.0, 0.0]))
    result = ts.solve(A, np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]), solver="gmres")
    assert [column.verified for column in result.columns] == [True, False]
    assert not result.converged and not result.verified


def test_initial_guess():
    A, b = laplacian(40), np.ones(40)
    x = ts.solve(A, b, solver="cg", rtol=1e-10).x
    result = ts.solve(A, b, x, solver="cg", rtol=1e-8)
    assert result.iterations == 0 and (result.x == x).all()
    kept = x.copy()
    ts.solve(A, 2 * b, x, solver="cg")
    assert (x == kept).all()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_systems(n):
    result = ts.solve(scipy_sparse.csr_array(2.0 * np.eye(n)), np.ones(n), solver="cg")
    assert result.x.shape == (n,) and np.allclose(result.x, 0.5)


def test_large_vectors_are_not_copied_into_buffers():
    matrix = ts.Matrix.gallery("laplace2d", 160)
    b = np.ones(25600)
    result = ts.Solver(matrix, solver="cg", precond="ic0").solve(b)
    assert result.verified and close(matrix.to_scipy(), result.x, b, 1e-5)


def test_new_values():
    A = laplacian(30)
    solver = ts.Solver(A, solver="cg", precond="ic0", rtol=1e-10)
    b = np.ones(30)
    first = solver.solve(b).x
    solver.update_values(3.0 * A.data)
    assert np.allclose(3.0 * solver.solve(b).x, first, rtol=1e-8)
    with pytest.raises(ValueError, match="values for 88 nonzeros"):
        solver.update_values(np.ones(3))


def test_transpose():
    A = scipy_sparse.random_array((15, 15), density=0.3, rng=np.random.default_rng(5)) + 5 * scipy_sparse.eye_array(15)
    matrix, b = ts.Matrix(A), np.arange(15.0)
    assert (matrix.T.to_scipy() != A.T.tocsr()).nnz == 0
    assert close(A.T, ts.Solver(matrix, rtol=1e-10).transposed().solve(b).x, b, 1e-10)
    symmetric = ts.Matrix(laplacian(5))
    assert symmetric.T is symmetric
    wide = ts.Matrix(np.arange(6.0).reshape(2, 3))
    assert (wide.T.to_scipy().toarray() == np.arange(6.0).reshape(2, 3).T).all()


def test_a_solver_solves_with_the_transpose():
    n = 30
    A = scipy_sparse.diags_array([-1.5, 3.0, -0.5], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    solver, b = ts.Solver(A, solver="bicgstab", rtol=1e-10), np.arange(1.0, n + 1)
    result = solver.solve(b, transpose=True)
    assert result.verified and close(A.T, result.x, b, 1e-10)
    assert close(A, solver.solve(b).x, b, 1e-10)
    solver.set_limits(max_iterations=1)
    assert solver.solve(b, transpose=True).iterations == 1
    solver.set_limits(max_iterations=1000)
    solver.update_values(2.0 * A.data)
    assert close(2.0 * A.T, solver.solve(b, transpose=True).x, b, 1e-10)
    assert solver.solve(np.ones((n, 2)), transpose=True).x.shape == (n, 2)


@pytest.mark.parametrize("marks, solver", [({}, "bicgstab"), ({"symmetric": True}, "minres"),
                                           ({"positive_definite": True}, "cg")])
def test_marks_of_an_operator_choose_the_method(marks, solver):
    A = ts.Matrix.gallery("laplace2d", 12).to_scipy()
    operator = LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=lambda x: A @ x, dtype=float)
    result = ts.solve(ts.Matrix(operator, **marks), np.ones(144), rtol=1e-8)
    assert result.converged and result.solver == solver
    assert ts.solve(ts.Matrix(operator, **marks).T, np.ones(144), rtol=1e-8).solver == solver



# ---- options ----

def test_options_have_the_names_of_the_command_line():
    A, b = ts.Matrix.gallery("laplace2d", 20), np.ones(400)
    for options in ({"solver": "cg", "precond": "ic0"}, {"solver": "gmres", "restart": 10, "max_iterations": 500},
                    {"solver": "gmres-ir", "inner_precision": "fp32"}, {"solver": "idr:8"}, {"precision": "fp64"},
                    {"solver": "bicgstab", "precond": "ilut:1e-3:10", "precond_precision": "fp32/fp64"},
                    {"solver": "cg", "format": "sell", "policy": "lossless"}, {"scale": "symmetric", "solver": "cg"},
                    {"solver": "gmres", "orthogonalization": "cgs2", "basis_precision": "fp32"},
                    {"solver": "cg", "reorder": "rcm", "precond": "ic0"}, {"solver": "cg", "engine": "plain"},
                    {"solver": "cg", "format": "split", "policy": "error-bound:1e-6", "granularity": "entry"},
                    {"solver": "cg", "format": "csr", "policy": "error-bound:1e-6:componentwise"},
                    {"accuracy": 1e-6}, {"solver": "cg", "format": "tiles", "levels": "fp64,fp32",
                                         "policy": "mean-range:0.1"}):
        assert ts.solve(A, b, **options).verified, options


def test_options_reach_the_library():
    A, b = ts.Matrix.gallery("laplace2d", 20), np.ones(400)
    assert ts.solve(A, b, solver="idr:3").solver == "idr"
    assert ts.solve(A, b, solver="cg", max_iterations=3).reason == "iterations"
    assert ts.solve(A, b, solver="cg", max_iterations=3).iterations == 3
    assert ts.solve(A, b, solver="gmres", restart=7).iterations > ts.solve(A, b, solver="gmres", restart=50).iterations
    assert ts.Solver(A, precond="ilut:1e-2:5").options.precond.threshold.drop == 1e-2
    assert ts.Solver(A, drop=0.5, precond="ilut").options.precond.threshold.drop == 0.5
    assert ts.Solver(A, idr_s=6, solver="idr").options.idr.s == 6
    assert ts.solve(A, b, solver="cg", timings=1).phase_seconds["spmv"] > 0


def test_options_that_came_before_are_the_same_again():
    from tessera_sparse import _options
    A, settings = laplacian(5), {"solver": "gmres", "restart": 7, "precond": "ilut:1e-2:5", "rtol": 1e-9}
    first, again = ts.Solver(A, **settings), ts.Solver(A, **settings)
    assert bytes(first.options) == bytes(again.options) and first.options.rtol == 1e-9
    again.set_limits(rtol=1e-3)  # of this solver alone
    assert first.options.rtol == ts.Solver(A, **settings).options.rtol == 1e-9
    assert ts.Solver(A, **dict(settings, rtol=1e-8)).options.rtol == 1e-8
    for k in range(3 * _options._MOST_READY):
        ts.Solver(A, solver="cg", rtol=1e-9 * (k + 1))
    assert len(_options._ready) <= _options._MOST_READY
    for _ in range(2):
        with pytest.raises(ValueError, match="ilu99"):
            ts.Solver(A, precond="ilu99")


@pytest.mark.parametrize("options,error,text", [
    ({"callback": print}, TypeError, "did you mean 'monitor'"), ({"B": 3}, TypeError, "did you mean 'near_nullspace'"),
    ({"restrt": 3}, TypeError, "did you mean 'restart'"), ({"maxiter": 3}, TypeError, "did you mean 'max_iterations'"),
    ({"tol": 3}, TypeError, "did you mean 'rtol'"), ({"solver": "gc"}, ValueError, "did you mean 'cg'"),
    ({"precond": "ilu99"}, ValueError, "ilu99"), ({"rtol": "small"}, TypeError, "rtol"),
    ({"rtol": -1.0}, ValueError, "rtol: -1.0 is out of range"), ({"restart": 2.5}, TypeError, "whole number"),
    ({"solver": "idr:x"}, ValueError, "solver idr: 'x' is not an integer"),
    ({"accuracy": "x"}, ValueError, "backward:1e-12"),
    ({"policy": "nonsense"}, ValueError, "nonsense"), ({"policy": "error-bound:2"}, ValueError, "above 0 and below 1"),
    ({"policy": "error-bound:1e-6:row"}, ValueError, ":matrix or :componentwise"),
    ({"precision": "fp8"}, ValueError, "auto, fp64"),
    ({"solver": "gmres", "restart": 0}, ValueError, "restart"), ({"x_y": 1}, TypeError, "option_names"),
    ({"block_size": 2}, TypeError, "'amg_block_size' or 'bsr_block_size' or 'block_jacobi_block_size'"),
    ({"tolerance": 1e-8}, TypeError, "did you mean 'rtol'"), ({"iterations": 5}, TypeError, "'max_iterations'"),
    ({"precond": ("ilut", 1e-3, 5)}, TypeError, "precond is no matrix, LinearOperator or function, nor a name such as"),
    ({"precond": object()}, TypeError, "precond is no matrix"), ({"solver": ("gmres", 30)}, TypeError, "is no text"),
    ({"precond": "amg", "amg_block_size": 2}, ValueError, "amg: amg_block_size does not fit the matrix"),
    ({"precond": "amg", "near_nullspace": [[float("nan")]] * 5}, ValueError, "column 0 of the near-nullspace has NaN"),
])
def test_bad_options_say_what_is_wrong(options, error, text):
    with pytest.raises(error, match=text):
        ts.Solver(laplacian(5), **options)


@pytest.mark.parametrize("make,error,text", [
    (lambda: ts.solve(laplacian(5), np.ones(4)), ValueError, "b has 4 values; the matrix has 5 rows"),
    (lambda: ts.solve(laplacian(5), np.ones(5), np.ones(3)), ValueError, "x0"),
    (lambda: ts.solve(laplacian(5), np.ones((5, 2, 2))), ValueError, "shape"),
    (lambda: ts.solve(laplacian(5), ["a"] * 5), TypeError, "real numbers"),
    (lambda: ts.Matrix(np.ones(5)), ValueError, "2"),
    (lambda: ts.Matrix((np.ones(2), np.array([0, 9]), np.array([0, 1, 2]))), ValueError, "column index 9"),
    (lambda: ts.Matrix((np.ones(2), np.array([0, 1]), np.array([0, 2, 1]))), ValueError, "row_ptr"),
    (lambda: ts.Matrix((np.ones(2), np.array([0, 1]), np.array([0, 1, 3]))), ValueError, None),
    (lambda: ts.Matrix((np.ones(2), np.array([0.0, 1.0]), np.array([0, 1, 2]))), TypeError, "integers"),
    (lambda: ts.Matrix((np.ones(3), np.array([0, 1]), np.array([0, 1, 2]))), ValueError, "agree"),
    (lambda: ts.Matrix.read("/no/such.mtx"), OSError, "no/such"),
    (lambda: ts.Matrix.gallery("laplac2d", 4), OSError, "laplace2d"),
    (lambda: ts.Matrix("data/nos3.mtx.gz"), TypeError, "Matrix.read"),
    (lambda: ts.Matrix(scipy_sparse.coo_array(np.ones(3))), ValueError, "1 dimension"),
    (lambda: ts.Context(device="tpu"), ValueError, "auto, cpu, gpu"),
    (lambda: ts.Preconditioner(np.zeros((3, 3)), "ilu0"), ts.TesseraError, "hint"),
    (lambda: ts.solve(np.ones((2, 3)), np.ones(2), solver="cg"), ValueError, None),
])
def test_bad_input_says_what_is_wrong(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_an_error_has_status_message_and_hint():
    with pytest.raises(ts.TesseraError) as caught:
        ts.Matrix.gallery("laplac2d", 4)
    assert caught.value.status == "not_found" and caught.value.hint and "laplac2d" in caught.value.message


def test_a_matrix_of_another_context_is_copied():
    context, A = ts.Context(device="cpu", threads=1), ts.Matrix(laplacian(20))
    copied = ts.Matrix(A, context=context)
    assert copied.context is context and not copied.is_operator
    assert ts.Solver(copied, solver="cg", context=context).solve(np.ones(20)).verified
    with pytest.raises(ValueError, match="another context"):
        ts.Solver(A, solver="cg", context=context)
    with pytest.raises(TypeError, match="operator already"):
        ts.Matrix(ts.Matrix(LinearOperator((2, 2), matvec=lambda x: x, dtype=float)))


def test_results_and_errors_may_be_pickled_and_objects_not():
    import copy
    import pickle
    A = ts.Matrix.gallery("laplace2d", 20)
    for result in (ts.solve(A, np.ones(400), rtol=1e-8), ts.solve(A, np.ones((400, 2)), solver="cg")):
        again = pickle.loads(pickle.dumps(result))
        assert (again.x == result.x).all() and (again.history == result.history).all() and again.why == result.why
        assert again.to_dict() | {"history": 0} == result.to_dict() | {"history": 0}
        assert len(again.columns) == len(result.columns) and repr(again) == repr(result)
    with pytest.raises(ts.ConvergenceError) as caught:
        ts.spsolve(A, np.ones(400), solver="cg", max_iterations=1)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(ts.TesseraError) as caught:
        ts.Matrix.gallery("laplac2d", 4)
    assert pickle.loads(pickle.dumps(caught.value)).hint == caught.value.hint
    for thing in (A, ts.ic0(A), ts.Solver(A), A.context):
        for function in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="pickle"):
                function(thing)


# ---- operators ----

def test_operator_without_a_bound_is_never_verified():
    A, b = laplacian(30), np.ones(30)
    result = ts.solve(LinearOperator(A.shape, matvec=lambda x: A @ x), b, solver="cg")
    assert result.converged and not result.verified and "not verified" in repr(result)


def test_operator_with_a_bound_is_verified():
    A, b = laplacian(30), np.ones(30)
    magnitude = abs(A)

    def bound(x):  # three products and sums a row
        return 4 * np.finfo(float).eps * float(np.linalg.norm(magnitude @ abs(x)))

    matrix = ts.Matrix(LinearOperator(A.shape, matvec=lambda x: A @ x), error_bound=bound)
    result = ts.solve(matrix, b, solver="cg", rtol=1e-8)
    assert result.verified and result.residual_bound > 0 and close(A, result.x, b, 1e-8)


def test_operator_of_a_matrix_is_the_matrix():
    from scipy.sparse.linalg import aslinearoperator
    assert not ts.Matrix(aslinearoperator(laplacian(9))).is_operator


def test_operators_diagonal_and_transpose():
    A = scipy_sparse.csr_array(np.diag(np.arange(1.0, 21.0)) + np.diag(np.ones(19), 1))
    operator = LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=lambda x: A.T @ x)
    matrix = ts.Matrix(operator, diagonal=A.diagonal())
    b = np.ones(20)
    assert close(A, ts.solve(matrix, b, solver="gmres", precond="jacobi", rtol=1e-9).x, b, 1e-9)
    assert close(A.T, ts.solve(matrix.T, b, solver="gmres", rtol=1e-9).x, b, 1e-9)


@pytest.mark.parametrize("where", ["operator", "preconditioner", "monitor", "interrupt"])
def test_exceptions_of_callbacks_come_through(where):
    A, b = laplacian(30), np.ones(30)
    kind = KeyboardInterrupt if where == "interrupt" else KeyError

    def broken(_argument):
        raise kind("broken")

    with pytest.raises(kind, match="broken"):
        if where == "operator":
            ts.solve(LinearOperator(A.shape, matvec=broken, dtype=float), b, solver="cg")
        elif where == "preconditioner":
            ts.solve(A, b, solver="cg", precond=broken)
        else:
            ts.solve(A, b, solver="cg", monitor=broken)
    assert ts.solve(A, b, solver="cg").verified  # the context works on


def test_wrong_shape_from_an_operator():
    with pytest.raises(ValueError):
        ts.solve(LinearOperator((5, 5), matvec=lambda x: np.ones(3), dtype=float), np.ones(5), solver="cg")


def test_a_solver_within_a_preconditioner():
    A, b = laplacian(60), np.ones(60)
    inner = ts.Solver(A, solver="cg", rtol=1e-2)
    result = ts.solve(A, b, solver="fgmres", precond=lambda r: inner.solve(r).x, rtol=1e-10)
    assert result.verified and result.iterations < 20


@pytest.mark.parametrize("make", [
    lambda A: ts.jacobi(A), lambda A: ts.block_jacobi(A, 4), lambda A: ts.polynomial(A, 5), lambda A: ts.ilu0(A),
    lambda A: ts.ic0(A), lambda A: ts.ilut(A, 1e-3), lambda A: ts.ict(A), lambda A: ts.iluk(A, 2), lambda A: ts.amg(A)])
def test_preconditioners_are_those_of_their_names(make):
    A = ts.Matrix.gallery("laplace2d", 15)
    M, r = make(A), np.arange(225.0)
    by_object = ts.solve(A, r, solver="bicgstab", precond=M, rtol=1e-9)
    assert by_object.verified and M.shape == (225, 225)
    z = M @ r
    assert z.shape == (225,) and np.isfinite(z).all()
    from scipy.sparse.linalg import cg
    x, info = cg(A.to_scipy(), r, M=LinearOperator(M.shape, matvec=M.matvec, dtype=float), rtol=1e-8, maxiter=500)
    assert info == 0 or M.kind in ("ilut", "iluk", "polynomial")


def test_complete_factors():
    A = ts.Matrix.gallery("laplace2d", 15)
    try:
        M = ts.lu(A)
    except NotImplementedError:
        pytest.skip("a library without MUMPS")
    assert ts.solve(A, np.ones(225), solver="fgmres", precond=M, rtol=1e-10).iterations < 10
    assert M.factors["nonzeros"] > 0


# ---- results ----

def test_a_result_has_all_that_the_library_tells():
    result = ts.solve(ts.Matrix.gallery("laplace2d", 20), np.ones(400), rtol=1e-8)
    assert result.why and result.attempts[-1].reason == "rtol" and result.solver == "cg"
    assert result.history.size == result.iterations + 1 and result.history[0] > result.history[-1]
    assert result.residual_norm + result.residual_bound <= result.tolerance
    assert result.precisions["residual"] == "fp64" and result.to_dict()["reason"] == "rtol"
    assert result.storage["format"] == "csr" and result.rhs_norm == 20.0
    assert "converged" in repr(result) and "<table" in result._repr_html_()
    with pytest.raises(AttributeError, match="no_such"):
        result.no_such


def test_a_results_history_outlives_the_solver():
    solver = ts.Solver(ts.Matrix.gallery("laplace2d", 20), solver="cg")
    first = solver.solve(np.ones(400))
    before = first.history.copy()
    solver.solve(np.arange(400.0))
    assert (first.history == before).all()


def test_progress_and_cancelling():
    seen = []
    solver = ts.Solver(ts.Matrix.gallery("laplace2d", 20), solver="cg", progress=lambda p: seen.append(p.iteration))
    solver.solve(np.ones(400))
    assert seen == sorted(seen) and len(seen) > 10
    solver.set_limits(monitor=lambda p: p.iteration >= 5)
    assert solver.solve(np.ones(400)).reason == "cancelled"


def test_a_bar_of_tqdm(capsys):
    pytest.importorskip("tqdm")
    assert ts.solve(ts.Matrix.gallery("laplace2d", 20), np.ones(400), solver="cg", progress=True).verified
    assert "100%" in capsys.readouterr().err


def test_contexts():
    messages = []
    context = ts.Context(device="cpu", threads=1, log=lambda level, text: messages.append((level, text)),
                         log_level="debug")
    assert context.device == "cpu" and context.threads == 1 and "CPU" in repr(context)
    assert context.__cuda_stream__() == (0, 0)  # the host has no stream
    matrix = ts.Matrix(laplacian(20), context=context)
    assert ts.solve(matrix, np.ones(20)).verified
    assert messages and all(level == "debug" or level == "info" and text for level, text in messages)
    context.synchronize()
    context.trim()
    with ts.use_context(context):
        assert ts.Matrix(laplacian(3)).context is context
    assert ts.Matrix(laplacian(3)).context is not context


def test_threads_of_python_may_share_a_context():
    from concurrent.futures import ThreadPoolExecutor
    matrix = ts.Matrix.gallery("laplace2d", 30)
    solver = ts.Solver(matrix, solver="cg", rtol=1e-8)

    def work(seed):
        b = np.random.default_rng(seed).standard_normal(900)
        return close(matrix.to_scipy(), solver.solve(b).x, b, 1e-8)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(40)))


# ---- the library ----

def test_where_the_library_is_looked_for(monkeypatch):
    from tessera_sparse import _library
    monkeypatch.setattr(_library.os.path, "exists", lambda _path: False)
    monkeypatch.setenv("TESSERA_LIBRARY", "/no/such/libtessera.so")
    assert list(_library._candidates()) == ["/no/such/libtessera.so"]
    with pytest.raises(ImportError, match="TESSERA_LIBRARY"):
        _library._load()
    monkeypatch.delenv("TESSERA_LIBRARY")
    assert "libtessera.so" in list(_library._candidates())


def test_the_environment_is_as_it_was(monkeypatch):
    from tessera_sparse import _library
    import os
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        monkeypatch.delenv(name, raising=False)
    with _library._sleeping_threads():
        assert os.environ["GOMP_SPINCOUNT"] == "1000"
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with _library._sleeping_threads():
        assert "GOMP_SPINCOUNT" not in os.environ


def test_numpy_is_all_that_an_import_needs():
    import subprocess
    import sys
    code = ("import sys, tessera_sparse as ts\n"
            "assert ts.cg([[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0])[1] == 0\n"
            "print([m for m in ('scipy', 'torch', 'jax', 'matplotlib', 'cupy', 'tqdm') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- lifetimes ----

def test_an_object_is_destroyed_after_those_made_from_it():
    from tessera_sparse._library import Handle
    gone = []
    parent = Handle("context", gone.append)
    child = Handle("matrix", gone.append, (parent,))
    grandchild = Handle("solver", gone.append, (child, parent))
    parent.__del__()
    child.__del__()
    assert gone == []
    grandchild.__del__()
    assert gone == ["solver", "matrix", "context"]


def test_made_objects_know_their_parents():
    matrix = ts.Matrix(laplacian(9))
    M = ts.ic0(matrix)
    solver = ts.Solver(matrix, precond=M)
    assert matrix.handle in M.handle._parents and matrix.context.handle in matrix.handle._parents
    assert {matrix.handle, M.handle} <= set(solver.handle._parents)


def test_new_values_live_as_long_as_the_matrix():
    n = 200000
    matrix = ts.Matrix((np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)))
    assert matrix.borrowed
    matrix.update_values(np.full(n, 3.0))
    gc.collect()
    junk = [np.full(n, 7.0) for _ in range(8)]
    assert (matrix @ np.ones(n) == 3.0).all() and junk


def test_an_exception_of_a_monitor_ends_the_solve():
    calls = []

    def broken(seen):
        calls.append(seen.iteration)
        raise KeyError("once")

    with pytest.raises(KeyError, match="once"):
        ts.solve(laplacian(300), np.ones(300), solver="cg", monitor=broken)
    assert len(calls) == 1


def test_results_are_at_hand():
    A = ts.Matrix.gallery("laplace2d", 10)
    good, bad = ts.solve(A, np.ones(100), solver="cg"), ts.solve(A, np.ones(100), solver="cg", max_iterations=1)
    assert bool(good) and not bad
    assert {"x", "iterations", "reason", "residual_norm", "solver", "why"} <= set(dir(good)) and "size" not in dir(good)
    assert all(getattr(good, name, None) is not None for name in dir(good) if name[0] != "_")
    for wrong, right in (("iteration", "iterations"), ("success", "converged"), ("residual", "residual_norm")):
        with pytest.raises(AttributeError, match=f"did you mean '{right}'"):
            getattr(good, wrong)


def test_names_of_the_gallery():
    for name in ("laplace_2d", "Laplace2D", "poisson2d", "poisson"):
        assert ts.Matrix.gallery(name, 3).shape == (9, 9)
    with pytest.raises(ts.TesseraFileError, match="there are: .*laplace2d"):
        ts.Matrix.gallery("nothing-like-it")


def test_coordinates_at_one_point():
    with pytest.raises(ValueError, match="all 2 nodes at one point"):
        ts.Solver(laplacian(4), precond="amg", coordinates=[[1.0, 2.0]] * 2)


def test_a_result_shows_its_accuracy():
    reached = ts.solve(laplacian(5), np.ones(5), accuracy=1e-8)
    assert "accuracy" in repr(reached) and "1.0e-08 wanted, reached" in repr(reached)
    assert "by factors" in repr(reached)
    assert "wanted" not in repr(ts.solve(laplacian(5), np.ones(5)))
