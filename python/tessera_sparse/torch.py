# SPDX-License-Identifier: Apache-2.0
"""
Solves with gradients of any order for PyTorch, also under torch.func's grad, jvp, vmap and hessian.

    import tessera_sparse as ts
    x = ts.torch.solve(A, b)         A: a sparse tensor, or (values, col_indices, crow_indices)
    x.sum().backward()               gradients of the values of A and of b, by one solve with A^T
"""
import torch

from ._arrays import dtype_of
from ._errors import ConvergenceError
from ._matrix import as_matrix
from ._solver import Solver

_KEPT = 8  # set-ups of one call, for matrices that vmap batches


class _Setups:
    """Set-ups for the values that came last, of matrices of one pattern."""

    def __init__(self, n, options):
        self.n, self.options, self._kept = n, options, []

    def _solver(self, values, rows, columns, transposed):
        for kept in self._kept:
            if torch.equal(kept[0], values):
                break
        else:
            offsets = torch.zeros(self.n + 1, dtype=torch.int64, device=rows.device)
            offsets[1:] = torch.bincount(rows, minlength=self.n).cumsum(0)
            kept = [values.clone(), None, None]
            kept[1] = Solver(as_matrix((kept[0], columns, offsets, (self.n, self.n))), **self.options)
            self._kept = [kept] + self._kept[:_KEPT - 1]
        if transposed and kept[2] is None:
            kept[2] = kept[1].transposed()
        return kept[1 + transposed]

    def solved(self, values, b, rows, columns, transposed):
        solver = self._solver(values.detach(), rows, columns, transposed)
        result = solver._solve_typed(b.detach().contiguous(), None, dtype_of(b))
        if not result.verified:
            raise ConvergenceError(result)
        return result.x


class _Solve(torch.autograd.Function):
    """
    x = A^-1 b, or A^-T b. With the gradient g of x: that of b is y = A^-T g, that of a value a_ij is -y_i x_j. Forward:
    dx = A^-1 (db - dA x). Both are solves of this kind again, so that they have derivatives too. All tensors are
    arguments: torch.func unwraps no others.
    """

    @staticmethod
    def forward(values, b, rows, columns, setups, transposed):
        return setups.solved(values, b, rows, columns, transposed)

    @staticmethod
    def setup_context(ctx, inputs, output):
        values, _, rows, columns, ctx.setups, ctx.transposed = inputs
        ctx.save_for_backward(values, output, rows, columns)
        ctx.save_for_forward(values, output, rows, columns)

    @staticmethod
    def backward(ctx, g):
        values, x, rows, columns = ctx.saved_tensors
        y = _Solve.apply(values, g, rows, columns, ctx.setups, not ctx.transposed)
        of_values = None
        if ctx.needs_input_grad[0]:
            products = y[columns] * x[rows] if ctx.transposed else y[rows] * x[columns]
            of_values = -(products.sum(dim=1) if products.dim() == 2 else products)
        return of_values, y if ctx.needs_input_grad[1] else None, None, None, None, None

    @staticmethod
    def jvp(ctx, of_values, of_b, *_others):
        values, x, rows, columns = ctx.saved_tensors
        change = torch.zeros_like(x) if of_b is None else of_b
        if of_values is not None:
            to, of = (columns, rows) if ctx.transposed else (rows, columns)
            products = x[of] * (of_values.unsqueeze(1) if x.dim() == 2 else of_values)
            change = change - torch.zeros_like(x).index_add(0, to, products)
        return _Solve.apply(values, change, rows, columns, ctx.setups, ctx.transposed)

    @staticmethod
    def vmap(info, in_dims, values, b, rows, columns, setups, transposed):
        of_values, of_b = in_dims[:2]
        if of_values is None:  # one matrix: the batch is many right-hand sides
            b = b.movedim(of_b, -1)
            x = _Solve.apply(values, b.reshape(b.shape[0], -1), rows, columns, setups, transposed)
            return x.reshape(b.shape), b.dim() - 1
        x = [_Solve.apply(values.select(of_values, k), b if of_b is None else b.select(of_b, k), rows, columns, setups,
                          transposed) for k in range(info.batch_size)]
        return torch.stack(x), 0


class _Values(torch.autograd.Function):
    """Values of a tensor by columns or blocks, which PyTorch does not differentiate. The gradient has its layout."""

    @staticmethod
    def forward(ctx, A):
        ctx.like = A.detach()
        return ctx.like.values().clone()

    @staticmethod
    def backward(ctx, g):
        offsets, indices = _compressed(ctx.like)
        return torch.sparse_compressed_tensor(offsets, indices, g, ctx.like.shape, layout=ctx.like.layout)


def _by_rows(A):
    return A.layout in (torch.sparse_csr, torch.sparse_bsr)


def _compressed(A):
    return (A.crow_indices(), A.col_indices()) if _by_rows(A) else (A.ccol_indices(), A.row_indices())


def _triplets(A):
    """(values, rows, columns) of a sparse tensor by columns or blocks."""
    values, (offsets, indices) = _Values.apply(A), _compressed(A.detach())
    outer = torch.repeat_interleave(torch.arange(offsets.shape[0] - 1, device=offsets.device), offsets.diff())
    rows, columns = (outer, indices) if _by_rows(A) else (indices, outer)
    if values.dim() == 3:
        height, width = values.shape[1:]
        within = torch.arange(height * width, device=rows.device)
        rows = (rows[:, None] * height + within // width).reshape(-1)
        columns = (columns[:, None] * width + within % width).reshape(-1)
    return values.reshape(-1), rows, columns


def _sorted(values, rows, columns, shape):
    """Triplets without duplicates by rows, differentiable in the values."""
    order = torch.argsort(rows * shape[1] + columns)
    return values[order], rows[order], columns[order], shape


def _of_offsets(values, columns, offsets, shape):
    rows = torch.repeat_interleave(torch.arange(shape[0], device=columns.device), offsets.diff())
    return values, rows, columns.long(), shape


def _parts(A):
    """(values, rows, columns, shape) of what `solve` takes, by rows, differentiable in A."""
    if not isinstance(A, torch.Tensor):
        nrows = A[2].shape[0] - 1
        return _of_offsets(*A[:3], tuple(A[3]) if len(A) > 3 else (nrows, nrows))
    shape = tuple(A.shape)
    if len(shape) != 2:
        raise ValueError(f"A has {len(shape)} dimensions; a matrix has 2")
    if A.layout == torch.sparse_csr:
        return _of_offsets(A.values(), A.col_indices(), A.crow_indices(), shape)
    if A.layout == torch.sparse_coo:
        A = A.coalesce()
        return _sorted(A.values(), *A.indices(), shape)
    if A.layout == torch.strided:
        rows, columns = torch.nonzero(A.detach(), as_tuple=True)
        return A[rows, columns], rows, columns, shape
    return _sorted(*_triplets(A), shape)


def solve(A, b, *, rtol=None, **options):
    """
    Solves A x = b, differentiable in the values of A and in b.

    Parameters
    ----------
    A : tensor, or tuple
        Square: a tensor of any sparse layout or dense, or (values, col_indices, crow_indices) of CSR.
    b : tensor of n values, or of n by k
        On the device and in the type of A. The k right-hand sides share one set-up.
    rtol : float
        Default: 1e-10 for float64, 1e-5 for float32.
    **options : those of `tessera_sparse.Solver`

    Returns
    -------
    tensor of the shape of b
        A solve that is not verified raises `ConvergenceError`: its gradients would be wrong without notice.

    The gradient costs one solve with the transposed matrix. It shares the set-up if A is symmetric; otherwise the
    transposed matrix gets its own. That of a sparse A has the layout and the pattern of A. Derivatives have derivatives
    (`create_graph=True`, `torch.func`); a batch of `vmap` is several right-hand sides.

    Examples
    --------
    >>> import torch, tessera_sparse as ts
    >>> A = torch.tensor([[4.0, 1.0], [1.0, 3.0]], dtype=torch.float64).to_sparse_csr()
    >>> b = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> ts.torch.solve(A, b).sum().backward()
    >>> b.grad
    tensor([0.1818, 0.2727], dtype=torch.float64)
    """
    values, rows, columns, shape = _parts(A)
    if values.dtype != b.dtype or values.device != b.device:
        raise TypeError(f"A is {values.dtype} on {values.device}, b is {b.dtype} on {b.device}; they must agree")
    if shape[0] != shape[1]:
        raise ValueError(f"expected a square matrix, not {shape[0]} by {shape[1]}")
    options["rtol"] = rtol if rtol is not None else 1e-10 if values.dtype == torch.float64 else 1e-5
    return _Solve.apply(values, b, rows, columns, _Setups(shape[0], options), False)
