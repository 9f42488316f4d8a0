# SPDX-License-Identifier: Apache-2.0
"""Residuals in exact arithmetic, for judging claims. Every finite number is a fraction; norms are compared as squares,
so that no root is needed. A is a list of rows, each {column: value}; b and x are lists of numbers."""
import fractions
import math

import collections

# The squares of a residual's norm and of the right-hand side's, which share a scale.
Squares = collections.namedtuple("Squares", "residual rhs")


def fraction(value):
    """A float, a NumPy number of any width, or an integer, without rounding."""
    return fractions.Fraction(*value.as_integer_ratio())


def finite(values):
    return all(abs(value) < math.inf for value in values)


def row_residuals(rows, b, x):
    """b - A x, row by row."""
    exact_x = [fraction(value) for value in x]
    return [fraction(b_i) - sum(fraction(value) * exact_x[j] for j, value in row.items())
            for row, b_i in zip(rows, b)]


def exact_residual(rows, b, x):
    """||b - A x||^2 and ||b||^2, or None where a number is NaN or infinite."""
    if not (finite(x) and finite(b)):
        return None
    return Squares(sum(r * r for r in row_residuals(rows, b, x)), sum(fraction(value)**2 for value in b))


def row_sizes(rows, b, x):
    """|A| |x| + |b|, row by row."""
    return [abs(fraction(b_i)) + sum(abs(fraction(value) * fraction(x[j])) for j, value in row.items())
            for row, b_i in zip(rows, b)]


def exact_backward_error(rows, b, x):
    """The largest |b - A x|_i / (|A| |x| + |b|)_i, a fraction; 0 where both are 0, None if numbers are not finite."""
    if not (finite(x) and finite(b)):
        return None
    pairs = zip(row_residuals(rows, b, x), row_sizes(rows, b, x))
    return max((abs(r) / size for r, size in pairs if size), default=fraction(0))


def exact_row_scaled_residual(rows, b, x):
    """The same with each row of A and b divided by the row's largest |a_ij|. A row without nonzeros keeps its scale."""
    if not (finite(x) and finite(b)):
        return None
    scales = [max((abs(fraction(value)) for value in row.values()), default=0) or 1 for row in rows]
    residual = sum((r / scale)**2 for r, scale in zip(row_residuals(rows, b, x), scales))
    return Squares(residual, sum((fraction(value) / scale)**2 for value, scale in zip(b, scales)))


def exact_least_squares(rows, b, x):
    """||A^T (b - A x)||^2 and ||A||_F^2 ||b - A x||^2."""
    if not (finite(x) and finite(b)):
        return None
    residuals, normal = row_residuals(rows, b, x), collections.Counter()
    for row, r in zip(rows, residuals):
        for j, value in row.items():
            normal[j] += fraction(value) * r
    frobenius = sum(fraction(value)**2 for row in rows for value in row.values())
    return Squares(sum(r * r for r in normal.values()), frobenius * sum(r * r for r in residuals))


def within(squares, rtol, atol=0.0):
    """Whether the norm is at most max(rtol ||b||, atol)."""
    if squares is None:
        return False
    return squares.residual <= max(fraction(float(rtol))**2 * squares.rhs, fraction(float(atol))**2)


def rows_within(scaled, plain, rtol, atol=0.0):
    """Whether a row-scaled norm is at most max(rtol, atol / ||b||) times that of b, as docs/concepts/verification.md
    has it; `plain` has the squares as given. For b = 0 the tolerance is atol."""
    if scaled is None:
        return False
    share = fraction(float(rtol))**2
    if not plain.rhs:
        return scaled.residual <= fraction(float(atol))**2
    return scaled.residual <= max(share, fraction(float(atol))**2 / plain.rhs) * scaled.rhs


def agrees(square, reported, bound):
    """Whether a reported norm is within its bound of the exact one, given as a square."""
    low = max(fraction(reported) - fraction(bound), 0)
    return low**2 <= square <= (fraction(reported) + fraction(bound))**2


def ratio(squares):
    """The relative residual as a float, for messages; of any size."""
    if squares is None:
        return math.nan
    if not squares.rhs:
        return math.inf if squares.residual else 0.0
    quotient = squares.residual / squares.rhs
    digits = (quotient.numerator.bit_length() - quotient.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(quotient / fractions.Fraction(4)**digits), min(digits, 1000))
