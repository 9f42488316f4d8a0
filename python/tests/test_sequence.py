# SPDX-License-Identifier: Apache-2.0
"""Sequences of systems: guesses, kept preconditioners, and what is refused."""
import os
import runpy

import numpy as np
import pytest
import scipy.sparse

import tessera_sparse as ts

SIDE = 16


def heat(t, side=SIDE):
    """I + K, where K is a Laplacian whose coefficients depend on t."""
    n = side * side
    row = np.arange(n).reshape(side, side)
    pairs = [(row[:, :-1].ravel(), row[:, 1:].ravel()), (row[:-1].ravel(), row[1:].ravel())]
    i, j = (np.concatenate(part) for part in zip(*pairs))
    k = 10.0 * np.exp(0.5 * np.sin(0.1 * (i + j) + t))
    graph = scipy.sparse.coo_array((np.concatenate([k, k]), (np.concatenate([i, j]), np.concatenate([j, i]))), (n, n))
    A = scipy.sparse.csr_array(scipy.sparse.diags_array(1.0 + graph.sum(axis=1)) - graph)
    A.sort_indices()
    return A


def run(steps, change=0.02, **options):
    x, iterations = np.zeros(SIDE * SIDE), 0
    with ts.Sequence(heat(0.0), rtol=1e-8, **options) as sequence:
        for k in range(steps):
            A = heat(change * k)
            b = x + np.exp(-np.linspace(-1, 1, x.size)**2 * (1.0 + 0.1 * k))
            result = sequence.solve(b, A=A if k else None)
            x = result.x
            assert result.verified and np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)
            yield result
            iterations += result.iterations


def test_guesses_save_iterations():
    counts = [sum(r.iterations for r in run(12, solver="cg", precond="jacobi", kept_solutions=kept)) for kept in (0, 4)]
    assert counts[1] < counts[0]


def test_steps_say_what_they_did():
    results = list(run(4, solver="cg", precond="amg", renewal="never"))
    assert [r.renewed for r in results] == [True, False, False, False]
    assert results[0].why == "set up: the first step" and results[3].why.startswith("kept: ")
    assert results[3].step["guess"] == "projected" and results[3].step["age"] == 3
    assert results[3].step["guess_residual"] <= results[3].step["given_residual"]
    assert results[0].step["guess"] == "zero"
    assert all(r.renewed for r in run(4, solver="cg", precond="ic0", renewal="always"))
    automatic = list(run(4))[-1]
    assert automatic.attempts and "\n" in automatic.why


def test_values_and_limits():
    A = heat(0.0)
    sequence = ts.Sequence(A, solver="cg", precond="ic0", renewal="counted", extra_iterations=5)
    b = np.ones(A.shape[0])
    sequence.set_limits(rtol=1e-10)
    result = sequence.solve(b, values=2.0 * A.data)
    assert np.linalg.norm(b - 2.0 * (A @ result.x)) <= 1.01e-10 * np.linalg.norm(b)
    assert sequence.solve(b).iterations == 0
    column = sequence.solve(2.0 * b.reshape(-1, 1), values=list(A.data))
    assert column.x.shape == (A.shape[0], 1)
    sequence.forget()
    assert sequence.solve(b, x0=column.x.reshape(-1)).step["solutions"] == 0
    assert np.all(sequence.matrix.csr()[0] == A.data)
    assert repr(sequence) == f"<tessera_sparse.Sequence: cg, {A.shape[0]} by {A.shape[0]}>"
    assert sequence.solve(b, A=ts.Matrix(heat(0.1))).verified


def test_what_is_refused():
    A = heat(0.0)
    sequence = ts.Sequence(A, solver="cg", precond="ic0")
    b = np.ones(A.shape[0])
    first = sequence.solve(b)
    bad = A.data.copy()
    bad[5] = np.nan
    with pytest.raises(ts.TesseraError, match="value 5 is nan"):
        sequence.solve(b, values=bad)
    with pytest.raises(ts.TesseraError, match="nonzeros of the matrix"):
        sequence.solve(b, values=np.ones(3))
    with pytest.raises(ValueError, match="another pattern"):
        sequence.solve(b, A=heat(0.0, SIDE - 1))
    with pytest.raises(TypeError, match="no sparse matrix"):
        sequence.solve(b, A=np.eye(3))
    with pytest.raises(TypeError, match="not both"):
        sequence.solve(b, A=A, values=A.data)
    with pytest.raises(ValueError, match="one system"):
        sequence.solve(np.ones((A.shape[0], 2)))
    again = sequence.solve(b)  # with the values of the first step
    assert again.verified and np.allclose(again.x, first.x, rtol=1e-4)
    with pytest.raises(ValueError, match="auto, counted, always, never"):
        ts.Sequence(A, renewal="sometimes")
    with pytest.raises(TypeError, match="name one"):
        ts.Sequence(A, precond=A)
    with pytest.raises(ts.TesseraError, match="kept_solutions is 17"):
        ts.Sequence(A, kept_solutions=17)
    sequence.close()
    with pytest.raises(ValueError, match="closed"):
        sequence.solve(b)
    assert "closed" in repr(sequence)


def test_monitors_see_steps():
    seen = []
    sequence = ts.Sequence(heat(0.0), solver="cg", precond="jacobi", monitor=seen.append)
    sequence.solve(np.ones(SIDE * SIDE))
    assert len(seen) > 1
    with pytest.raises(ZeroDivisionError):
        sequence.set_limits(monitor=lambda progress: 1 / 0)
        sequence.solve(np.arange(SIDE * SIDE, dtype=float))


def example(name):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return runpy.run_path(os.path.join(root, "examples/python", name))


def test_examples():
    steps = list(example("heat.py")["steps"]())
    assert all(result.verified for _, result in steps) and not all(result.renewed for _, result in steps)
    norms = [norm for norm, _ in example("newton.py")["newton"]()]
    assert norms[-1] < 1e-9 * 100.0 and len(norms) < 10
