# SPDX-License-Identifier: Apache-2.0
"""Operators of SciPy, seen from the other side."""
import numpy as np


class TransposedOperator:
    """The adjoint of a LinearOperator that has rmatvec, A^H; or `conjugated`, A^T."""

    def __init__(self, operator, conjugated=False):
        self.operator, self.shape = operator, tuple(reversed(operator.shape))
        self.dtype = getattr(operator, "dtype", None)
        self.matvec, self.rmatvec = operator.rmatvec, operator.matvec
        if conjugated:
            self.matvec = lambda x: np.conj(operator.rmatvec(np.conj(x)))
            self.rmatvec = lambda x: np.conj(operator.matvec(np.conj(x)))
        diagonal = getattr(operator, "diagonal", None)
        if diagonal is not None:
            self.diagonal = diagonal


class DampedOperator:
    """[A; damp I] of a Matrix that is an operator."""

    def __init__(self, matrix, damp):
        inner, (self.nrows, ncols), self.damp = matrix.operator, matrix.shape, damp
        self.inner, self.shape, self.dtype = inner, (self.nrows + ncols, ncols), matrix.dtype
        self.bound = matrix.bound
        if self.bound is not None:
            self.error_bound = self._error_bound

    def matvec(self, x):
        return np.concatenate([self.inner.matvec(x).reshape(-1), self.damp * x])

    def rmatvec(self, y):
        return self.inner.rmatvec(y[:self.nrows]).reshape(-1) + self.damp * y[self.nrows:]

    def _error_bound(self, x):  # of the two parts; damp x is rounded once
        return float(self.bound(x)) + abs(self.damp) * np.finfo(float).eps * float(np.linalg.norm(x))
