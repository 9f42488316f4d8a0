# SPDX-License-Identifier: Apache-2.0
"""Gradients for PyTorch and JAX, against finite differences."""
import numpy as np
import pytest

import tessera_sparse as ts


def dense_system(n=6, symmetric=False):
    rng = np.random.default_rng(11)
    A = 4 * np.eye(n) + rng.random((n, n)) * (rng.random((n, n)) > 0.5)
    return A + A.T if symmetric else A


@pytest.mark.filterwarnings("ignore")
class TestTorch:
    def parts(self, symmetric=False):
        torch = pytest.importorskip("torch")
        A = torch.from_numpy(dense_system(symmetric=symmetric)).to_sparse_csr()
        return torch, A

    @pytest.mark.parametrize("symmetric", [False, True])
    @pytest.mark.parametrize("columns", [0, 3])
    @pytest.mark.parametrize("method", [{}, {"solver": "gmres", "precond": "none"}])
    def test_gradcheck(self, symmetric, columns, method):
        """A named method gives the same bits each time; auto may take another one once it knows the matrix."""
        torch, A = self.parts(symmetric)
        values = A.values().clone().requires_grad_()
        b = torch.rand((6, columns) if columns else 6, dtype=torch.float64, requires_grad=True)
        def f(v, r):
            return ts.torch.solve((v, A.col_indices(), A.crow_indices()), r, rtol=1e-14, **method)

        change = {"nondet_tol": 0.0 if method else 1e-11}
        assert torch.autograd.gradcheck(f, (values, b), check_forward_ad=True, **change)
        assert torch.autograd.gradgradcheck(f, (values, b), **change)

    def test_hessians(self):
        """Of a function of A and b, against that of dense matrices; by all three ways that PyTorch has."""
        torch, A = self.parts()
        b, direction = torch.rand(6, dtype=torch.float64), torch.rand(A.values().shape[0], dtype=torch.float64)
        columns, offsets = A.col_indices(), A.crow_indices()
        rows = torch.repeat_interleave(torch.arange(6), offsets.diff())

        def dense(v):
            full = torch.zeros(6, 6, dtype=torch.float64).index_put((rows, columns), v)
            return torch.linalg.solve(full, b).pow(3).sum()

        def ours(v):
            return ts.torch.solve((v, columns, offsets), b, rtol=1e-14).pow(3).sum()

        expected = torch.autograd.functional.hessian(dense, A.values())
        near = {"rtol": 1e-9, "atol": 1e-11 * float(expected.abs().max())}
        assert torch.allclose(torch.autograd.functional.hessian(ours, A.values()), expected, **near)
        assert torch.allclose(torch.func.hessian(ours)(A.values()), expected, **near)
        assert torch.allclose(torch.autograd.functional.hvp(ours, A.values(), direction)[1], expected @ direction,
                              **near)

    def test_vmap(self, monkeypatch):
        torch, A = self.parts()
        calls, many = [], ts.Solver._solve_columns
        monkeypatch.setattr(ts.Solver, "_solve_columns", lambda self, b, *rest: calls.append(b.shape) or
                            many(self, b, *rest))
        B, full = torch.rand((5, 6), dtype=torch.float64), A.to_dense()
        csr = A.values(), A.col_indices(), A.crow_indices()
        x = torch.func.vmap(lambda b: ts.torch.solve(csr, b))(B)
        assert torch.allclose(x @ full.T, B, rtol=1e-9) and calls == [(6, 5)]
        values = torch.stack([csr[0], 2 * csr[0]])
        x = torch.func.vmap(lambda v: ts.torch.solve((v,) + csr[1:], B[0]))(values)
        assert torch.allclose(x @ full.T, torch.stack([B[0], B[0] / 2]), rtol=1e-9)

    @pytest.mark.parametrize("layout", ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr",
                                        "sparse_bsc"])
    def test_layouts(self, layout):
        """The gradient of A has its layout and its pattern, with the zeros that blocks store."""
        torch, A = self.parts()
        blocks = {"blocksize": (2, 3)} if "bs" in layout else {}
        A, b = A.to_dense(), torch.rand(6, dtype=torch.float64)
        A = A.clone() if layout == "strided" else A.to_sparse(layout=getattr(torch, layout), **blocks)
        A.requires_grad_()
        x = ts.torch.solve(A, b, rtol=1e-13)
        gradient, = torch.autograd.grad(x.sum(), A)
        assert gradient.layout == A.layout
        full = A.detach().to_dense()
        stored = torch.ones_like(full) if "bs" in layout else full != 0  # each block of this matrix has an entry
        y = torch.linalg.solve(full.T, torch.ones(6, dtype=torch.float64))
        assert torch.allclose(gradient.to_dense(), -torch.outer(y, x.detach()) * stored, rtol=1e-9)
        with pytest.raises(ValueError, match="square"):
            ts.torch.solve(torch.ones((2, 3), dtype=torch.float64), b[:2])

    def test_sparse_tensor_gets_a_gradient(self):
        torch, A = self.parts()
        A.requires_grad_()
        b = torch.rand(6, dtype=torch.float64)
        x = ts.torch.solve(A, b, rtol=1e-13)
        x.sum().backward()
        y = torch.linalg.solve(A.detach().to_dense().T, torch.ones(6, dtype=torch.float64))
        expected = -torch.outer(y, x.detach()) * (A.detach().to_dense() != 0)
        assert torch.allclose(A.grad.to_dense(), expected, rtol=1e-9)

    def test_types(self):
        torch, A = self.parts()
        single = A.to(torch.float32)
        assert ts.torch.solve(single, torch.ones(6)).dtype == torch.float32
        with pytest.raises(ts.ConvergenceError):  # which x in float32 cannot have
            ts.torch.solve(single, torch.rand(6), rtol=1e-10)
        with pytest.raises(TypeError, match="agree"):
            ts.torch.solve(single, torch.ones(6, dtype=torch.float64))
        with pytest.raises(ts.ConvergenceError):
            ts.torch.solve(torch.zeros((3, 3), dtype=torch.float64), torch.ones(3, dtype=torch.float64))

    def test_tensors_go_in_and_come_out(self):
        torch, A = self.parts()
        b = torch.ones(6, dtype=torch.float32)
        for matrix, kind in ((A.to(torch.float32), torch.float32), (A, torch.float64)):
            x = ts.solve(matrix, b, rtol=1e-6).x
            assert isinstance(x, torch.Tensor) and x.dtype == kind
        y, info = ts.bicgstab(A, b.double(), rtol=1e-10)
        assert info == 0 and isinstance(y, torch.Tensor) and torch.allclose(A @ y, b.double(), rtol=1e-8)


class TestJax:
    def parts(self):
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        sparse = pytest.importorskip("jax.experimental.sparse")
        return jax, sparse.BCSR.fromdense(jax.numpy.asarray(dense_system()))

    @pytest.mark.parametrize("columns", [0, 2])
    @pytest.mark.parametrize("compiled", [False, True])
    def test_gradients(self, columns, compiled):
        jax, A = self.parts()
        from jax.test_util import check_grads
        b = jax.numpy.asarray(np.random.default_rng(1).random((6, columns) if columns else 6))

        def f(values, r):
            return ts.jax.solve((values, A.indices, A.indptr), r, rtol=1e-13)

        modes = ["rev", "fwd"] if compiled and columns else ["rev"]
        check_grads(jax.jit(f) if compiled else f, (A.data, b), 1, modes=modes)

    def test_hessians(self):
        """Of f = 1^T A^-1 b with respect to the entries of A, and the third derivative along all of them."""
        jax, A = self.parts()
        b, dense = np.random.default_rng(2).random(6), dense_system()
        rows, columns = np.repeat(np.arange(6), np.diff(A.indptr)), np.asarray(A.indices)
        x, y, inverse = np.linalg.solve(dense, b), np.linalg.solve(dense.T, np.ones(6)), np.linalg.inv(dense)

        def f(v):
            return ts.jax.solve((v, A.indices, A.indptr), jax.numpy.asarray(b), rtol=1e-14).sum()

        half = y[rows][:, None] * inverse[np.ix_(columns, rows)] * x[columns]  # (a_ij, a_kl): y_i (A^-1)_jk x_l
        assert np.allclose(jax.jit(jax.hessian(f))(A.data), half + half.T, rtol=1e-9, atol=1e-11)
        change, along = inverse @ (dense != 0), jax.numpy.ones_like(A.data)

        def slope(v):
            return jax.grad(f)(v) @ along
        second = jax.jvp(slope, (A.data,), (along,))[1], jax.grad(slope)(A.data) @ along
        assert np.allclose(second, 2 * (change @ change @ x).sum(), rtol=1e-9)
        assert np.isclose(jax.grad(lambda v: jax.jvp(slope, (v,), (along,))[1])(A.data) @ along,
                          -6 * (change @ change @ change @ x).sum(), rtol=1e-8)

    def test_vmap_is_many_right_hand_sides(self, monkeypatch):
        jax, A = self.parts()
        calls, many = [], ts.Solver._solve_structs
        monkeypatch.setattr(ts.Solver, "_solve_structs", lambda self, b, x: calls.append((b.rows, b.columns)) or
                            many(self, b, x))
        B = jax.numpy.asarray(np.random.default_rng(3).random((2, 4, 6)))
        x = jax.vmap(jax.vmap(lambda b: ts.jax.solve(A, b)))(B)
        assert np.allclose(x @ dense_system().T, B, rtol=1e-9) and calls == [(6, 8)]
        jacobian = jax.jit(jax.jacrev(lambda b: ts.jax.solve(A, b)))(B[0, 0])
        assert np.allclose(jacobian @ dense_system(), np.eye(6), atol=1e-9) and calls[1:] == [(6, 6)]
        data = jax.numpy.stack([A.data, 2 * A.data])
        x = jax.vmap(lambda v, b: ts.jax.solve((v, A.indices, A.indptr), b))(data, B[:, 0])
        assert np.allclose(x[1] @ dense_system().T, B[1, 0] / 2, rtol=1e-9)
        x = jax.vmap(lambda v: ts.jax.solve((v, A.indices, A.indptr), B[0, 0]))(data)
        assert np.allclose(x[1], x[0] / 2, rtol=1e-9)

    @pytest.mark.parametrize("kind", ["BCOO", "CSC"])
    def test_duplicates_and_padding(self, kind):
        """Each stored entry has the derivative of its place, and padding has none, also under jit."""
        jax, _ = self.parts()
        from jax.experimental import sparse
        dense, b = dense_system(), jax.numpy.arange(1.0, 7.0)
        rows, columns = np.nonzero(dense)
        rows, columns = np.append(rows, [0, 6]), np.append(columns, [0, 6])  # a duplicate, padding
        data = np.append(dense[rows[:-2], columns[:-2]], [0.5, 99.0])
        total = dense.copy()
        total[0, 0] += 0.5
        major = columns if kind == "CSC" else rows
        order = np.argsort(major, kind="stable")
        data, rows, columns, major = (part[order] for part in (data, rows, columns, major))
        offsets = np.searchsorted(major, np.arange(7))
        made = {"BCOO": lambda v: sparse.BCOO((v, np.stack([rows, columns], axis=1)), shape=(6, 6)),
                "CSC": lambda v: sparse.CSC((v, rows, offsets), shape=(6, 6))}[kind]
        x, gradient = jax.jit(jax.value_and_grad(lambda v: ts.jax.solve(made(v), b, rtol=1e-13).sum()))(
            jax.numpy.asarray(data))
        exact, y = np.linalg.solve(total, b), np.linalg.solve(total.T, np.ones(6))
        expected = np.array([0.0 if i == 6 else -y[i] * exact[j] for i, j in zip(rows, columns)])
        assert np.isclose(x, exact.sum(), rtol=1e-9) and np.allclose(gradient, expected, rtol=1e-9)

    def test_sparse_cotangents(self):
        jax, A = self.parts()
        from jax.experimental import sparse
        gradient = sparse.grad(lambda a: ts.jax.solve(a, jax.numpy.ones(6)).sum())(A)
        assert type(gradient) is type(A) and gradient.data.shape == A.data.shape

    def test_options_are_texts_and_numbers(self):
        jax, A = self.parts()
        b = jax.numpy.ones(6)
        assert np.allclose(A @ ts.jax.solve(A, b, solver="gmres", restart=6, precond="jacobi"), b)
        with pytest.raises(TypeError, match="near_nullspace is a ndarray"):
            ts.jax.solve(A, b, precond="amg", near_nullspace=np.ones(6))

    def test_vmap_and_types(self):
        jax, A = self.parts()
        b = jax.numpy.asarray(np.random.default_rng(1).random((6, 3)))
        one = jax.vmap(lambda r: ts.jax.solve(A, r), in_axes=1, out_axes=1)(b)
        assert np.allclose(one, np.linalg.solve(dense_system(), b), rtol=1e-8)
        assert ts.jax.solve((A.data.astype("float32"), A.indices, A.indptr), b[:, 0]).dtype == "float32"
        assert type(ts.solve(A, b[:, 0]).x) is type(b)

    def test_lineax(self):
        jax, A = self.parts()
        lineax = pytest.importorskip("lineax")
        dense, b = dense_system(), jax.numpy.arange(1.0, 7.0)

        def solved(operator, right):
            return lineax.linear_solve(operator, right, ts.lineax.Solver(rtol=1e-13)).value

        operator = ts.lineax.Operator(A)
        assert np.allclose(operator.as_matrix(), dense) and np.allclose(operator.T.mv(b), dense.T @ b)
        assert np.allclose(lineax.diagonal(operator), np.diag(dense)) and not lineax.is_symmetric(operator)
        assert np.allclose(dense.T @ solved(operator.T, b), b) and np.allclose(dense @ solved(operator, b), b)
        assert np.allclose(dense @ solved(lineax.MatrixLinearOperator(jax.numpy.asarray(dense)), b), b)
        X = jax.vmap(lambda right: solved(operator, right))(jax.numpy.eye(6))
        assert np.allclose(X.T, np.linalg.inv(dense), atol=1e-9)

        def slope(v, solve):
            return jax.grad(lambda w: solve((w, A.indices, A.indptr)).sum())(v).sum()
        of_lineax, of_ours = (jax.jit(jax.grad(slope), static_argnums=1)(A.data, solve) for solve in (
            lambda a: solved(ts.lineax.Operator(a), b), lambda a: ts.jax.solve(a, b, rtol=1e-13)))
        assert np.allclose(of_lineax, of_ours, rtol=1e-9, atol=1e-12)
        symmetric = ts.lineax.Operator(A, tags=lineax.symmetric_tag)
        assert symmetric.T is symmetric and lineax.is_symmetric(symmetric)
        with pytest.raises(ValueError, match="square"):
            solved(lineax.MatrixLinearOperator(jax.numpy.ones((2, 3))), b[:2])
        with pytest.raises(TypeError, match="texts and numbers"):
            ts.lineax.Solver(near_nullspace=b)
