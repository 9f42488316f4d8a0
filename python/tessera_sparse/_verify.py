# SPDX-License-Identifier: Apache-2.0
"""Verifies an answer, whoever computed it."""
import ctypes
import math

from . import _abi, _arrays, _columns, _complex, _vectors
from ._errors import counted
from ._library import check, enum_values, lib, to_dict, new_struct
from ._matrix import Matrix, as_matrix, context_for

_NORMS = ("both", "given", "rows")


class Verification:
    """
    What is known of an x.

    Attributes
    ----------
    met : bool
        Whether x is proved to meet the tolerance, in the norms that were asked for. `bool(verification)` is the same.
    given_met : bool
        Whether it does in the norm as given.
    residual_norm, relative_residual, residual_bound : float
        The true ||b - A x||_2, the same over ||b||, and the bound on the rounding error of the first.
    rows : dict
        The same of scaled rows, and the row-wise backward error: `relative`, `met`, `backward_error`, `backward_row`.
    backward_error, forward_error : float
        ||b - A x|| / (||A||_F ||x|| + ||b||), and with accuracy=True an estimate of ||x - x*|| / ||x||; NaN: unknown.
    worst_rows : list of dict
        The rows of the largest backward error: `row`, `residual`, `backward_error`, `share`. Rows count from 0.
    columns : list of Verification
        For x with several columns: one for each. The attributes above are then those of the worst column.

    All other fields of `tess_verification` (include/tessera/verify.h) are attributes too.

    Examples
    --------
    >>> import tessera_sparse as ts
    >>> found = ts.verify([[1e30, 0.0], [-1.0, 2.0]], [1e30, 0.0], [1.0, 0.0])
    >>> found.given_met, found.rows["met"], found.worst_rows[0]["row"]
    (True, False, 1)
    """

    def __init__(self, fields, worst_rows):
        self.__dict__.update(fields)
        self.met, self.given_met = bool(self.met), bool(self.given_met)
        self.rows["met"] = bool(self.rows["met"])
        self.worst_rows, self.columns = worst_rows, [self]

    @classmethod
    def of_columns(cls, columns):
        """Of several: the worst, which is met only if all are."""
        worst = max(columns, key=lambda c: (not c.met, c.relative_residual != c.relative_residual, c.rows["relative"],
                                            c.relative_residual))
        found = cls({k: dict(v) if isinstance(v, dict) else v for k, v in worst.__dict__.items()}, worst.worst_rows)
        found.columns = columns
        return found

    def __bool__(self):
        return self.met

    def _lines(self):
        if self.nonfinite_solution >= 0:
            yield "result", f"NOT MET: x has NaN or Inf, first in row {self.nonfinite_solution}"
        else:
            yield "result", "the tolerance is met" if self.met else "NOT MET"
        yield "residual", (f"{self.relative_residual:.3e} relative, TRUE; norm {self.residual_norm:.3e}, "
                           f"rounding bound {self.residual_bound:.1e}")
        row = self.rows["backward_row"]
        yield "", (f"{self.rows['relative']:.3e} relative, TRUE, rows scaled to one size; backward error "
                   f"{self.rows['backward_error']:.1e}" + (f" (row {row})" if row >= 0 else ""))
        yield "tolerance", f"{self.tolerance:.3e}"
        if not math.isnan(self.forward_error):
            yield "forward", f"error about {self.forward_error:.1e}"
        if len(self.columns) > 1:
            yield "columns", f"{len(self.columns)}, {sum(c.met for c in self.columns)} met; the worst is above"

    def __repr__(self):
        return "\n".join(f"{name:<12}{text}" for name, text in self._lines())


def tolerances(rtol, atol, norm, accuracy):
    """The tess_verify_options."""
    if norm not in _NORMS:
        raise ValueError(f"norm is {norm!r}; it is one of " + ", ".join(map(repr, _NORMS)))
    options = new_struct(_abi.tess_verify_options)
    options.rtol, options.atol, options.forward_error = rtol, atol, bool(accuracy)
    options.stop_norm = enum_values("tess_stop_norm")[norm]
    return options


def _rows(matrix, b, x, count):
    found, rows = ctypes.c_int64(), (_abi.tess_verify_row * max(count, 1))()
    check(lib.tess_verify_rows(matrix.pointer, b.pointer, x.pointer, count, ctypes.addressof(rows),
                               ctypes.byref(found)), matrix.context.pointer)
    return [to_dict(row) for row in rows[:found.value]]


def verify_vectors(matrix, b, x, options=None):
    """The tess_verification of two vectors of the library; without options only its norms and bounds are to be read."""
    raw = new_struct(_abi.tess_verification)
    check(lib.tess_verify(matrix.pointer, b.pointer, x.pointer, options and ctypes.byref(options), ctypes.byref(raw)),
          matrix.context.pointer, matrix._raised)
    return raw


def verify_columns(matrix, b, x, options=None):
    """The same of the columns of two arrays of the host, which share passes over the matrix: an array of structs."""
    found = (_abi.tess_verification * x.shape[1])()
    for each in found:
        each.size = ctypes.sizeof(each)
    if found:
        b, x = _columns.in_place(b), _columns.in_place(x)
        check(lib.tess_verify_columns(matrix.pointer, ctypes.byref(_columns.described(b)),
                                      ctypes.byref(_columns.described(x)), options and ctypes.byref(options), found),
              matrix.context.pointer, matrix._raised)
    return found


def _verify_one(matrix, b, x, options, rows):
    context = matrix.context
    with context.lock:
        b, x = _vectors.vector_of(context, b), _vectors.vector_of(context, x)
        raw = verify_vectors(matrix, b, x, options)
        return Verification(to_dict(raw), [] if matrix.is_operator else _rows(matrix, b, x, rows))


def _array(array, what, rows, context):
    """(array in FP64, number of columns; 0: it has one dimension)."""
    if context.on_gpu and _arrays.on_device(array):
        array = _arrays.to_double(array, context)
    else:
        array = _arrays.host_array(array, what)
    shape = tuple(getattr(array, "shape", None) or array.__cuda_array_interface__["shape"])
    if len(shape) not in (1, 2) or shape[0] != rows:
        raise ValueError(f"{what} has the shape {shape}; wanted are {counted(rows, 'value')}, or "
                         f"{counted(rows, 'row')} of several columns")
    return array, shape[1] if len(shape) == 2 else 0


def _checked(array, what, rows):
    """An array of so many rows, which may be complex."""
    array = array if _arrays.on_device(array) else _arrays.host_array(array, what, take_complex=True)
    if len(array.shape) not in (1, 2) or array.shape[0] != rows:
        raise ValueError(f"{what} has the shape {tuple(array.shape)}; wanted are {counted(rows, 'value')}, or "
                         f"{counted(rows, 'row')} of several columns")
    return array


def _column(array, columns, j):
    return array if columns == 0 else array.reshape(-1) if columns == 1 else array[:, j]


def verify(A, b, x, *, rtol=1e-5, atol=0.0, norm="both", accuracy=False, rows=5, context=None):
    """
    Judges an answer x of A x = b, whoever computed it, by its true residual in FP64 with a rounding bound.

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
        Of any shape.
    b, x : arrays of n values, or of n by k
        Of any library and real type; the values are promoted exactly. b may have one column for all of x.
    rtol, atol : float
        ||b - A x|| <= max(rtol ||b||, atol).
    norm : "both", "given" or "rows"
        The norm that must meet it. "rows" divides row i by its largest magnitude.
    accuracy : bool
        Estimate the error of x, by complete factors of A.
    rows : int
        How many rows to list in `worst_rows`.

    Returns
    -------
    Verification

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> ts.verify([[2.0, 1.0], [1.0, 3.0]], [3.0, 5.0], np.float32([0.8, 1.4]), rtol=1e-6).met
    True
    """
    if context is None and not isinstance(A, Matrix):
        context = context_for(None, (b, x)) if _arrays.on_device(b) or _arrays.on_device(x) else None
    matrix, options = as_matrix(A, context), tolerances(rtol, atol, norm, accuracy)
    if matrix.is_complex or _complex.is_complex(b) or _complex.is_complex(x):
        matrix = matrix.complexified().form
        b, x = (_complex.flattened(_checked(v, what, size // 2)) for v, what, size in (
            (b, "b", matrix.shape[0]), (x, "x", matrix.shape[1])))
    (b, b_columns), (x, x_columns) = (_array(b, "b", matrix.shape[0], matrix.context),
                                      _array(x, "x", matrix.shape[1], matrix.context))
    if b_columns > 1 and b_columns != x_columns:
        raise ValueError(f"b has {counted(b_columns, 'column')} and x has {max(x_columns, 1)}: b may have one, or as "
                         "many as x")
    found = [_verify_one(matrix, _column(b, b_columns, j), _column(x, x_columns, j), options, rows)
             for j in range(max(x_columns, 1))]
    return found[0] if len(found) == 1 else Verification.of_columns(found)
