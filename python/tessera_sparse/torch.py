# SPDX-License-Identifier: Apache-2.0
"""
Solves with gradients for PyTorch.

    import tessera_sparse as ts
    x = ts.torch.solve(A, b)         A: torch.sparse_csr, or (values, col_indices, crow_indices)
    x.sum().backward()               gradients of the values of A and of b, by one solve with A^T
"""
import torch
from torch.autograd.function import once_differentiable

from ._arrays import dtype_of
from ._errors import ConvergenceError
from ._matrix import as_matrix
from ._solver import Solver


class _Solve(torch.autograd.Function):
    """x = A^-1 b. With the gradient g of x: that of b is y = A^-T g, that of a value a_ij is -y_i x_j."""

    @staticmethod
    def forward(ctx, values, b, solver, pattern):
        x = _verified(solver, b)
        ctx.solver, ctx.pattern = solver, pattern
        ctx.save_for_backward(x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, = ctx.saved_tensors
        y = _verified(ctx.solver.transposed(), g.contiguous())
        values_gradient = None
        if ctx.needs_input_grad[0]:
            rows, columns = ctx.pattern
            products = y[rows] * x[columns]
            values_gradient = -(products.sum(dim=1) if products.dim() == 2 else products)
        return values_gradient, y if ctx.needs_input_grad[1] else None, None, None


def _verified(solver, b):
    result = solver._solve_typed(b, None, dtype_of(b))
    if not result.verified:
        raise ConvergenceError(result)
    return result.x


def _parts(A):
    if isinstance(A, torch.Tensor):
        if A.layout != torch.sparse_csr:
            A = A.to_sparse_csr()
        if len(A.shape) != 2:
            raise ValueError(f"A has {len(A.shape)} dimensions; a matrix has 2")
        return A.values(), A.col_indices(), A.crow_indices(), tuple(A.shape)
    values, columns, offsets = A[:3]
    nrows = offsets.shape[0] - 1
    return values, columns, offsets, tuple(A[3]) if len(A) > 3 else (nrows, nrows)


def solve(A, b, *, rtol=1e-10, **options):
    """
    Solves A x = b, differentiable in the values of A and in b.

    Parameters
    ----------
    A : tensor, or tuple
        Square: a tensor of any sparse layout or dense, or (values, col_indices, crow_indices) of CSR.
    b : tensor of n values, or of n by k
        On the device and in the type of A. The k right-hand sides share one set-up.
    rtol : float
    **options : those of `tessera_sparse.Solver`

    Returns
    -------
    tensor of the shape of b
        A solve that is not verified raises `ConvergenceError`: its gradients would be wrong without notice.

    The gradient costs one solve with the transposed matrix. It shares the set-up if A is symmetric; otherwise the
    transposed matrix gets its own. Gradients of gradients are not supported.

    Examples
    --------
    >>> import torch, tessera_sparse as ts
    >>> A = torch.tensor([[4.0, 1.0], [1.0, 3.0]], dtype=torch.float64).to_sparse_csr()
    >>> b = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> ts.torch.solve(A, b).sum().backward()
    >>> b.grad
    tensor([0.1818, 0.2727], dtype=torch.float64)
    """
    values, columns, offsets, shape = _parts(A)
    if values.dtype != b.dtype or values.device != b.device:
        raise TypeError(f"A is {values.dtype} on {values.device}, b is {b.dtype} on {b.device}; they must agree")
    matrix = as_matrix((values.detach().clone(), columns, offsets, shape))
    solver = Solver(matrix, rtol=rtol, **options)
    rows = torch.repeat_interleave(torch.arange(shape[0], device=values.device), offsets.diff())
    return _Solve.apply(values, b, solver, (rows, columns.long()))
