# SPDX-License-Identifier: Apache-2.0
"""Operators of SciPy, seen from the other side."""


class TransposedOperator:
    """A^T of a LinearOperator that has rmatvec."""

    def __init__(self, operator):
        self.operator, self.shape = operator, tuple(reversed(operator.shape))
        self.dtype = getattr(operator, "dtype", None)
        self.matvec, self.rmatvec = operator.rmatvec, operator.matvec
        diagonal = getattr(operator, "diagonal", None)
        if diagonal is not None:
            self.diagonal = diagonal
