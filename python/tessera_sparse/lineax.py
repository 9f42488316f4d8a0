# SPDX-License-Identifier: Apache-2.0
"""
A sparse operator and a solver for lineax.

    import lineax, tessera_sparse as ts
    solution = lineax.linear_solve(ts.lineax.Operator(A), b, ts.lineax.Solver())
    x = solution.value
"""
import equinox
import jax as _jax
import jax.numpy as jnp
import lineax

from . import jax as _ours


class Operator(lineax.AbstractLinearOperator):
    """
    A square sparse matrix as an operator of lineax, differentiable in its values.

    Parameters
    ----------
    A : BCSR, BCOO, CSR, CSC or COO of jax.experimental.sparse, or tuple (data, indices, indptr) of CSR
    tags : tag or iterable of tags of lineax, such as lineax.symmetric_tag
        What A is known to be; nothing checks it.

    Examples
    --------
    >>> import jax.numpy as jnp, lineax, tessera_sparse as ts
    >>> A = ts.lineax.Operator((jnp.array([4.0, 1.0, 1.0, 3.0]), jnp.array([0, 1, 0, 1]), jnp.array([0, 2, 4])))
    >>> lineax.linear_solve(A, jnp.array([1.0, 2.0]), ts.lineax.Solver()).value.round(4).tolist()
    [0.09..., 0.63...]
    """

    data: _jax.Array
    indices: _jax.Array
    indptr: _jax.Array
    transposed: bool = equinox.field(static=True)
    tags: frozenset = equinox.field(static=True)

    def __init__(self, A, tags=()):
        data, indices, indptr, shape = _ours._parts(A)
        if shape[0] != shape[1]:
            raise ValueError(f"expected a square matrix, not {shape[0]} by {shape[1]}")
        self.data, self.indices, self.indptr = jnp.asarray(data), jnp.asarray(indices), jnp.asarray(indptr)
        self.transposed = False
        self.tags = frozenset(tags) if isinstance(tags, (set, frozenset, list, tuple)) else frozenset([tags])

    def _sides(self):
        """The row and the column of each entry, of A or of A^T."""
        sides = _ours._rows_of(self.data, self.indices, self.indptr), self.indices
        return sides[::-1] if self.transposed else sides

    def mv(self, vector):
        return _ours._product(self.data, *self._sides(), vector)

    def as_matrix(self):
        n = self.indptr.shape[0] - 1
        return jnp.zeros((n, n), self.data.dtype).at[self._sides()].add(self.data, mode="drop")

    def transpose(self):
        if lineax.symmetric_tag in self.tags:
            return self
        other = equinox.tree_at(lambda a: a.data, self, self.data)  # a copy: modules are frozen
        object.__setattr__(other, "transposed", not self.transposed)
        object.__setattr__(other, "tags", frozenset(lineax.transpose_tags(self.tags)))
        return other

    def in_structure(self):
        return _jax.ShapeDtypeStruct((self.indptr.shape[0] - 1,), self.data.dtype)

    out_structure = in_structure


@lineax.linearise.register(Operator)
@lineax.materialise.register(Operator)
@lineax.conj.register(Operator)
def _itself(operator):
    return operator


@lineax.diagonal.register(Operator)
def _diagonal(operator):
    rows, columns = operator._sides()
    values = jnp.where(rows == columns, operator.data, 0)
    return jnp.zeros(operator.in_size(), operator.data.dtype).at[rows].add(values, mode="drop")


def _register(question, tag):
    question.register(Operator)(lambda operator: tag in operator.tags)


for _question, _tag in ((lineax.is_symmetric, lineax.symmetric_tag), (lineax.is_diagonal, lineax.diagonal_tag),
                        (lineax.is_tridiagonal, lineax.tridiagonal_tag),
                        (lineax.has_unit_diagonal, lineax.unit_diagonal_tag),
                        (lineax.is_lower_triangular, lineax.lower_triangular_tag),
                        (lineax.is_upper_triangular, lineax.upper_triangular_tag),
                        (lineax.is_positive_semidefinite, lineax.positive_semidefinite_tag),
                        (lineax.is_negative_semidefinite, lineax.negative_semidefinite_tag)):
    _register(_question, _tag)


class Solver(lineax.AbstractLinearSolver):
    """
    Solves by this library, for `lineax.linear_solve(operator, vector, solver)`. Works under jit, vmap, jvp and grad.

    Parameters
    ----------
    rtol : float, optional
        Default: 1e-10 for float64, 1e-5 for float32.
    **options : those of `tessera_sparse.Solver` that are texts or numbers

    An operator other than `Operator` is made a dense matrix first, of which all entries are stored. A solve that is
    not verified is an error of the callback, also with `throw=False`.
    """

    rtol: float | None = equinox.field(static=True)
    options: tuple = equinox.field(static=True)

    def __init__(self, rtol=None, **options):
        self.rtol, self.options = rtol, tuple(sorted(options.items()))
        _ours._checked(options, rtol, jnp.float64)

    def init(self, operator, options):
        if operator.in_size() != operator.out_size():
            raise ValueError(f"expected a square matrix, not {operator.out_size()} by {operator.in_size()}")
        if not isinstance(operator, Operator):
            return self._state_of_dense(operator)
        return operator.data, operator.indices, operator.indptr, (operator.in_structure(), operator.transposed)

    def _state_of_dense(self, operator):
        matrix, structure = operator.as_matrix(), operator.in_structure()
        n = matrix.shape[0]
        if not isinstance(structure, _jax.ShapeDtypeStruct) or len(structure.shape) != 1:
            raise ValueError(f"an operator on {structure} is not supported; wanted is one on arrays of one dimension")
        return (matrix.reshape(-1), jnp.tile(jnp.arange(n, dtype=jnp.int32), n),
                jnp.arange(n + 1, dtype=jnp.int32) * n, (structure, False))

    def compute(self, state, vector, options):
        data, indices, indptr, (_, transposed) = state
        settings = _ours._checked(dict(self.options), self.rtol, data.dtype)
        return (_ours._call(transposed, settings, data, indices, indptr, vector.astype(data.dtype)),
                lineax.RESULTS.successful, {})

    def transpose(self, state, options):
        structure, transposed = state[3]
        return state[:3] + ((structure, not transposed),), {}

    def conj(self, state, options):
        return state, {}

    def assume_full_rank(self):
        return True
