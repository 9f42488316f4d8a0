# SPDX-License-Identifier: Apache-2.0
"""Preconditioners as objects: set up once, used by many solvers, also by SciPy's."""
import ctypes
import sys

import numpy as np

from . import _abi, _arrays, _columns, _complex, _operators, _vectors
from ._context import use_context
from ._interrupts import interruptible
from ._library import Handle, check, enum_name, lib, to_dict, new_struct
from ._matrix import as_matrix, is_form
from ._multigrid import levels_of, saddle_of, set_arrays, taken_from
from ._options import check_precond, new_options, set_options


_UNSYMMETRIC = ("ilut", "isai", "saddle")  # of a symmetric A, too
_TRANSPOSED = ("jacobi", "block-jacobi", "ilu0", "iluk", "lu")  # the factors of A^T are the transposed factors of A
_WAYS = ("levels", "sweeps", "colors")  # to solve their triangles, with which that holds


class Preconditioner:
    """
    z = M^-1 r, set up from a matrix. It is a LinearOperator for SciPy: give it as `M`.

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
    kind : str
        As on the command line: "jacobi", "block-jacobi:8", "polynomial:10", "ilu0", "ic0", "ilut:1e-3:10", "ict",
        "iluk:1", "lu", "cholesky", "amg", "jacobi-sweeps:3", "fsai:2", "isai:2" (docs/reference/preconditioners.md).
    **options
        Options of the preconditioner, such as precond_precision="fp32/fp64" or triangular="levels". For amg also
        arrays: `coordinates` of an elastic body, or `near_nullspace` vectors.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix.gallery("laplace2d", 50)
    >>> M = ts.Preconditioner(A, "ic0")
    >>> ts.solve(A, np.ones(2500), solver="cg", precond=M).converged
    True
    """

    def __init__(self, A, kind, **options):
        given = as_matrix(A)
        self.matrix, self.is_complex = given.form, given.is_complex
        settings, keep, pointer = new_options(), [], ctypes.c_void_p()
        self._made_from, self.context = dict(options, precond=kind), self.matrix.context
        values = dict(self._made_from)
        arrays = taken_from(values)
        set_options(settings, values, keep, _abi.TESS_OPTION_OF_PRECOND)
        check_precond(settings.precond)
        set_arrays(settings.precond, arrays, self.matrix, keep)
        with self.context.lock:
            status = interruptible(self.context, lib.tess_precond_create, self.matrix.pointer,
                                   ctypes.byref(settings.precond), ctypes.byref(pointer),
                                   release=lambda: lib.tess_precond_destroy(pointer))
            check(status, self.context.pointer, self.matrix._raised)
        self.kind = enum_name("tess_precond_kind", settings.precond.kind)
        self._adopt(pointer.value, (self.matrix.handle,), (keep, self.matrix))

    def _adopt(self, pointer, parents, keep):
        self.pointer = pointer
        self.handle = Handle(pointer, lib.tess_precond_destroy, parents, keep)
        self.shape, self.dtype, self.ndim = self.matrix.shape, np.dtype(np.float64), 2
        if self.is_complex:
            self.shape, self.dtype = tuple(size // 2 for size in self.shape), np.dtype(np.complex128)
        self._raised, self._transpose = getattr(self, "_raised", []), None

    def matvec(self, r):
        """M^-1 r, for r of n values, or of n by k."""
        if self.is_complex or _complex.is_complex(r):
            return self._of_complex(self._of_values, r)
        return self._of_values(r)

    def _of_complex(self, function, r):
        if self.is_complex:
            return _complex.restored(function(_complex.flattened(r)))
        return _complex.applied(function, r)

    def _of_values(self, r):
        if len(getattr(r, "shape", ())) == 2 and r.shape[1] != 1:
            return self._of_columns(r)
        with self.context.lock:
            source = _vectors.vector_of(self.context, r)
            target, fetch = _vectors.result_vector(self.context, self.matrix.shape[0], r)
            check(lib.tess_precond_apply(self.pointer, source.pointer, target.pointer), self.context.pointer,
                  self._raised)
            return fetch().reshape(r.shape) if hasattr(r, "shape") else fetch()

    __matmul__ = matvec
    __call__ = matvec
    dot = matvec

    def matmat(self, R):
        """
        M^-1 R, for R of n by k. Kinds that take several columns read the preconditioner once for all of a slice
        (docs/howto/several-right-hand-sides.md); arrays of a GPU go column by column.

        Examples
        --------
        >>> import numpy as np, tessera_sparse as ts
        >>> M = ts.jacobi(ts.Matrix([[2.0, 1.0], [1.0, 4.0]]))
        >>> M @ np.eye(2)
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
        """
        if self.is_complex or _complex.is_complex(R):
            return self._of_complex(self._of_columns, R)
        return self._of_columns(R)

    def _of_columns(self, R):
        if R.shape[1] == 0:
            return np.zeros(R.shape)
        if not _arrays.on_device(R) and _arrays.owner_of(R) == "numpy":
            return _columns.preconditioned(self, R)
        columns = [self._of_values(R[:, j]) for j in range(R.shape[1])]
        if isinstance(columns[0], np.ndarray):
            return np.stack(columns, axis=1)
        return sys.modules[_arrays.owner_of(columns[0])].stack(columns, 1)

    @property
    def T(self):
        """
        The transpose: this one itself for a symmetric A, else the same factors of A^T, up to rounding. Of a complex A
        there is the adjoint alone, `H`.

        Of jacobi, block-jacobi, ilu0, iluk and lu; the others have one for symmetric A alone, but ilut, isai and saddle
        none.

        Examples
        --------
        >>> import numpy as np, scipy.sparse.linalg, tessera_sparse as ts
        >>> A = np.array([[4.0, 1.0], [2.0, 5.0]])
        >>> scipy.sparse.linalg.bicg(A, np.ones(2), M=ts.ilu0(A))[1]
        0
        """
        if self.is_complex:
            raise NotImplementedError("a preconditioner of a complex matrix has the adjoint, H, and no transpose")
        return self.H

    @property
    def H(self):
        """The conjugate transpose: of a real A, `T`."""
        if self._transpose is None:
            made = dict(self._made_from)
            adjoint = self.matrix.owner.H if is_form(self.matrix) else self.matrix.T
            symmetric = self.matrix.T is self.matrix
            if symmetric and self.kind not in _UNSYMMETRIC:
                self._transpose = self
            elif self.kind in _TRANSPOSED and str(made.get("triangular", "levels")).partition(":")[0] in _WAYS:
                self._transpose = Preconditioner(adjoint, made.pop("precond"), **made)
            else:
                of = "a symmetric matrix is not symmetric, and" if symmetric else "an unsymmetric matrix"
                raise NotImplementedError(f"{self.kind} of {of} has no transpose; jacobi, block_jacobi, ilu0, iluk "
                                          "and lu have one")
        return self._transpose

    def rmatvec(self, r):
        """M^-T r, or M^-H r of a complex matrix: that of `H`."""
        return self.H.matvec(r)

    def rmatmat(self, R):
        """The same for R of n by k."""
        return self.H.matmat(R)

    def __array__(self, *_arguments, **_keywords):
        raise TypeError("a preconditioner is no array; M @ numpy.eye(n) has its entries, n by n")

    def update(self):
        """Computes new numbers after `Matrix.update_values`; keeps the structure."""
        self._transpose = None
        with self.context.lock:
            check(interruptible(self.context, lib.tess_precond_update, self.pointer), self.context.pointer,
                  self._raised)

    @property
    def bytes(self):
        """Bytes on the device that it owns."""
        return lib.tess_precond_bytes(self.pointer)

    @property
    def factors(self):
        """Facts about incomplete or complete factors, as a dict."""
        facts = new_struct(_abi.tess_precond_factors)
        check(lib.tess_precond_get_factors(self.pointer, ctypes.byref(facts)), self.context.pointer)
        return to_dict(facts)

    @property
    def amg(self):
        """
        The levels of multigrid, as a dict with the names of `amg` in the tool's JSON.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> levels = ts.amg(ts.Matrix.gallery("laplace2d", 50), amg_precision="fp32,fp16").amg["levels"]
        >>> [level["precision"] for level in levels[:2]], levels[0]["rows"]
        (['fp32', 'fp16'], 2500)
        """
        return levels_of(self.pointer, self.context)

    @property
    def saddle(self):
        """
        The blocks of a saddle point and what solves with them, as a dict with the names of `saddle` in the tool's JSON.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> parts = ts.saddle(ts.Matrix.gallery("stokes2d", 16)).saddle
        >>> parts["constraints"], parts["schur"], parts["a"]["precond"]
        (255, 'local', 'amg')
        """
        return saddle_of(self.pointer, self.context)

    def __repr__(self):
        return f"<tessera_sparse.Preconditioner: {self.kind}, {self.shape[0]} rows>"


def matrix_beside(A, context, precond):
    """The matrix of A in the context; without one a matrix of the host's arrays goes where its preconditioner is."""
    if context is None and isinstance(precond, Preconditioner):
        with use_context(precond.context):
            return as_matrix(A)
    return as_matrix(A, context)


class FunctionPreconditioner(Preconditioner):
    """A function, matrix or LinearOperator of the caller as preconditioner, for one matrix."""

    def __init__(self, matrix, m):
        self.matrix, self.context, self.kind, self._raised = matrix, matrix.context, "shell", []
        self.is_complex = is_form(matrix)
        n, shape = matrix.shape[0] // (2 if self.is_complex else 1), getattr(m, "shape", None)
        if shape is not None and tuple(shape) == (n,) and not hasattr(m, "matvec"):  # a diagonal
            m = _operators.Diagonal(m)
            shape = None
        if shape is not None and tuple(shape) != (n, n):
            raise ValueError(f"the preconditioner is {shape[0]} by {shape[1]}, the matrix {n} by {n}")
        shell, pointer = _operators.shell_precond(self.context, n, _operators.product_of(m, "precond"), self._raised,
                                                  self.is_complex), ctypes.c_void_p()
        check(lib.tess_precond_create_shell(self.context.pointer, matrix.shape[0], ctypes.byref(shell),
                                            ctypes.byref(pointer)),
              self.context.pointer)
        self._adopt(pointer.value, (self.context.handle,), (shell, m))


def _maker(kind, text):
    def make(A, **options):
        return Preconditioner(A, kind, **options)
    make.__name__ = make.__qualname__ = kind.replace("-", "_")
    make.__doc__ = f"""
    {text}

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
    **options : such as precond_precision="fp32/fp64"

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix.gallery("laplace2d", 20)
    >>> x, info = ts.cg(A, np.ones(400), M=ts.{kind.replace("-", "_")}(A))
    >>> info
    0
    """
    return make


jacobi = _maker("jacobi", "The diagonal as preconditioner.")
ilu0 = _maker("ilu0", "Incomplete LU factors on the pattern of A.")
ic0 = _maker("ic0", "Incomplete Cholesky factors of a symmetric positive definite matrix.")


def _shaped(kind, text, words, example):
    def make(A, *numbers, **options):
        return Preconditioner(A, ":".join([kind] + [str(number) for number in numbers]), **options)
    make.__name__ = make.__qualname__ = kind.replace("-", "_")
    make.__doc__ = f"""
    {text}

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
    {words}
    **options : such as precond_precision="fp32/fp64"

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix.gallery("laplace2d", 20)
    >>> x, info = ts.cg(A, np.ones(400), M=ts.{example})
    >>> info
    0
    """
    return make


block_jacobi = _shaped("block-jacobi", "Inverted diagonal blocks.", "size : rows of a block, 1 to 64 (8)",
                       "block_jacobi(A, 4)")
polynomial = _shaped("polynomial", "The GMRES polynomial of A.", "degree : 1 to 200 (10)", "polynomial(A, 5)")
ilut = _shaped("ilut", "Incomplete LU factors with fill by a threshold.",
               "drop, fill : relative threshold (1e-3), most entries of a row over the matrix's (10)",
               "ilut(A, 1e-3, 10)")
ict = _shaped("ict", "Incomplete Cholesky factors with fill by a threshold.",
              "drop, fill : relative threshold (1e-3), most entries of a row over the matrix's (10)", "ict(A, 1e-2)")
iluk = _shaped("iluk", "Incomplete LU factors with a level of fill.", "level : from 0 (1)", "iluk(A, 1)")
jacobi_sweeps = _shaped("jacobi-sweeps", "Jacobi iterations in steps of rising precision.", "count : 1 to 1000 (3)",
                        "jacobi_sweeps(A, 3)")
fsai = _shaped("fsai", "A factorized sparse approximate inverse of a symmetric positive definite A.",
               "power : the pattern is that of A to this power, 1 to 8 (2); or \"adaptive\": it grows row by row",
               "fsai(A, \"adaptive\")")
isai = _shaped("isai", "A sparse approximate inverse.",
               "power : the pattern is that of A to this power, 1 to 8 (2)", "isai(A, 2)")
amg = _shaped("amg", "Algebraic multigrid (docs/howto/multigrid.md).",
              "coordinates : array, optional\n        Of the nodes of an elastic body, a row for each: its rigid-body "
              "modes.\n    near_nullspace : array, optional\n        Vectors that A nearly maps to zero, as columns.",
              "amg(A)")
lu = _shaped("lu", "Complete LU factors, in FP32 unless precond_precision says otherwise (needs MUMPS).",
             "no numbers", "lu(A)")
cholesky = _shaped("cholesky", "Complete Cholesky factors, in FP32 unless precond_precision says otherwise (needs "
                   "MUMPS).", "no numbers", "cholesky(A)")


def saddle(A, **options):
    """
    The blocks of a saddle point [A F; B C]: A by multigrid, and an approximate Schur complement.

    docs/howto/saddle-points.md

    Parameters
    ----------
    A : matrix, square
    saddle_index : array, optional
        The rows of the second block, from 0. Default: rows without a diagonal entry, or with a small one.
    schur_matrix : matrix, optional
        In place of the Schur complement, such as the mass matrix of pressure; with schur_precondition="user".
    **options : such as schur_precondition="lsc", schur_fact_type="diag" (for minres)

    Returns
    -------
    Preconditioner

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> A = ts.Matrix.gallery("stokes2d", 12)
    >>> x, info = ts.gmres(A, np.ones(407), M=ts.saddle(A))
    >>> info
    0
    """
    return Preconditioner(A, "saddle", **options)
