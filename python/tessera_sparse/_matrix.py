# SPDX-License-Identifier: Apache-2.0
"""Matrices."""
import ctypes
import math
import os

import numpy as np

from . import _abi, _arrays, _columns, _complex, _containers, _operators, _vectors
from ._context import context_of_size, default_context
from ._dlpack import DeviceMemory
from ._errors import TesseraFileError, counted
from ._library import Handle, check, lib, to_dict, new_struct


BY_SIZE = "by size"  # in place of a context: for one solve, the host where that is faster for a matrix of its size


def context_for(context, arrays, nrows=0):
    """The caller's context; else one on the GPU and stream of the arrays; else the default one, or that of BY_SIZE."""
    if context is not None and context is not BY_SIZE:
        return context
    for array in arrays:
        if _arrays.on_device(array):
            stream, index = _arrays.current_stream(array)
            return default_context("gpu", stream, index)
    by_size = context is BY_SIZE and len(arrays) > 0
    return context_of_size(nrows, math.prod(np.shape(arrays[0]))) if by_size else default_context()


def _new(function, context, *arguments):
    pointer = ctypes.c_void_p()
    check(function(context.pointer, *arguments, ctypes.byref(pointer)), context.pointer)
    return pointer.value


class Matrix:
    """
    A sparse matrix in FP64, or an operator that is a function; of real or complex numbers.

    Parameters
    ----------
    A : sparse array or matrix, dense array, tuple, or LinearOperator
        SciPy sparse in any format, CSR of CuPy or PyTorch, BCSR of JAX, a dense array, a tuple (data, indices, indptr)
        or (data, indices, indptr, shape) of CSR arrays, or a LinearOperator of SciPy.
    context : Context, optional
        Where to compute. Default: where the arrays are, else the default context.
    copy : bool
        False (default): CSR arrays in FP64 with 32-bit columns, sorted and without duplicates, are read in place; do
        not change them, but through `update_values`. All others are copied once, and True copies these too.
    error_bound : callable, optional
        For a LinearOperator: error_bound(x) bounds ||y - A x||_2 for the y that it computes. Without it no result is
        *verified* (docs/concepts/verification.md).
    diagonal : array or callable, optional
        For a LinearOperator: its diagonal, for preconditioner jacobi.
    symmetric, positive_definite : bool
        For a LinearOperator: marks by which solver auto takes minres or cg in place of bicgstab. With a wrong mark a
        solve may fail; it claims nothing false.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, tessera_sparse as ts
    >>> A = ts.Matrix(scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(5, 5)))
    >>> A
    <tessera_sparse.Matrix: 5 by 5, 13 nonzeros, FP64>
    >>> A @ np.ones(5)
    array([1., 0., 0., 0., 1.])
    """

    def __init__(self, A, *, context=None, copy=False, error_bound=None, diagonal=None, symmetric=False,
                 positive_definite=False):
        self._raised, self._transpose, self._host_csr = [], None, None
        if isinstance(A, (str, os.PathLike)):
            raise TypeError(f"a matrix cannot be made from the text {str(A)!r}; Matrix.read(path) reads a file")
        if callable(A) and not hasattr(A, "shape"):
            raise TypeError("A is a function, which has no size; scipy.sparse.linalg.LinearOperator((n, n), matvec=A) "
                            "has one")
        if isinstance(A, Matrix):
            if A.is_operator:
                raise TypeError("A is an operator already; make another Matrix from what it was made from")
            self._make_csr(A.csr() + (A.shape,), context, copy)
            self._take_types(A)
            return
        parts = None if isinstance(A, np.ndarray) else _containers.csr_parts(A)
        if parts is None and (hasattr(A, "matvec") and hasattr(A, "shape")):
            inner = getattr(A, "A", None)  # SciPy's operator of a matrix
            if inner is not None and type(A).__name__ == "MatrixLinearOperator" and error_bound is None:
                parts = _containers.csr_parts(inner) or _containers.csr_of_dense(inner)
            else:
                self._make_shell(A, context, error_bound, diagonal, (symmetric, positive_definite))
                return
        if parts is None:
            parts = _containers.csr_of_dense(A)
        self._make_csr(parts, context, copy)

    def _take_types(self, other, transposed=False):
        self.given, self.dtype, self.loss = other.given, other.dtype, other.loss
        self.row_losses = other.row_losses if other.shape == self.shape and not transposed else None
        return self

    def _note_loss(self, data, indptr):
        """What conversion to FP64 lost: `loss` of all values, `row_losses` of each row; None: unknown by rows."""
        lost = _arrays.lost_in_double(data)
        self.loss, self.row_losses = _arrays.norm_of_lost(lost), None
        indptr = indptr() if lost is not None and callable(indptr) else indptr
        if lost is not None and indptr is not None and len(indptr) > 1:
            rows = np.repeat(np.arange(len(indptr) - 1), np.diff(np.asarray(indptr, dtype=np.int64)))
            squares = np.zeros(len(indptr) - 1, np.longdouble)
            if rows.size == lost.size:
                np.add.at(squares, rows, (lost * lost).reshape(-1))
                self.row_losses = np.sqrt(squares) * (1.0 + 1e-10)

    def _adopt(self, context, pointer, keep=()):
        self.context, self.pointer = context, pointer
        self.handle = Handle(pointer, lib.tess_matrix_destroy, (context.handle,), keep)
        self.shape = (lib.tess_matrix_nrows(pointer), lib.tess_matrix_ncols(pointer))
        if self.is_complex:
            self.shape = tuple(size // 2 for size in self.shape)
        return self

    @property
    def is_complex(self):
        """Whether it has complex numbers."""
        return self.dtype.kind == "c"

    @property
    def form(self):
        """What the library has: the matrix itself; of a complex one its real form, with two rows for each."""
        return _Form(self) if self.is_complex else self

    def complexified(self):
        """The matrix as a complex one."""
        if self.is_complex:
            return self
        if self.is_operator:
            made = Matrix.__new__(Matrix)
            made._raised, made._transpose, made._host_csr = [], None, None
            made._make_shell(self.operator, self.context, self.bound, None, self.marks, of_complex=True)
            return made
        data, indices, indptr = self.csr()
        made = Matrix((data.astype(np.complex128), indices, indptr, self.shape), context=self.context)
        made.loss = 2.0 * self.loss
        return made

    def _make_csr(self, parts, context, copy):
        data, indices, indptr, shape = parts
        if len(shape) != 2:
            raise ValueError(f"A has {len(shape)} dimensions; a matrix has 2")
        self.given = _arrays.dtype_of(data) or np.dtype(np.float64)
        is_complex = self.given.kind == "c"
        self.dtype = _arrays.real_dtype(_complex.real_type(self.given))
        self.like = data
        context = context_for(context, (data,), shape[0])
        gpu = context.on_gpu and _arrays.on_device(data)
        if is_complex:
            self.dtype = _complex.complex_type(self.dtype)
            data, copy = _complex.flattened(data if gpu else _arrays.host_array(data, "data", True)), True
        arrays = _device_csr(data, indices, indptr, context) if gpu else _host_csr(data, indices, indptr)
        if not gpu and indptr is not None and arrays[2].size != shape[0] + 1:
            raise ValueError(f"indptr has {arrays[2].size} elements; {shape[0]} rows need {shape[0] + 1}")
        if not gpu and arrays[0].size != arrays[1].size * (2 if is_complex else 1):
            raise ValueError(f"data has {arrays[0].size // (2 if is_complex else 1)} elements and indices "
                             f"{arrays[1].size}; they must agree")
        csr = _csr_struct(arrays, shape, gpu)
        if is_complex:
            csr.is_complex, csr.nnz = 1, csr.nnz // 2
        borrow = not copy and csr.val_precision == 0 and csr.col_ind_bits == 32 and gpu == context.on_gpu
        with context.lock:
            pointer = ctypes.c_void_p()
            if borrow:
                csr.ownership = _abi.TESS_BORROW
                borrow = lib.tess_matrix_create_csr(context.pointer, ctypes.byref(csr), ctypes.byref(pointer)) == 0
            if not borrow:
                csr.ownership = _abi.TESS_COPY
                check(lib.tess_matrix_create_csr(context.pointer, ctypes.byref(csr), ctypes.byref(pointer)),
                      context.pointer)
        self.borrowed, self.is_operator = borrow, False
        self._note_loss(data, None if gpu or is_complex else arrays[2])
        if is_complex:
            self.loss *= 2.0  # each number stands twice in the real form
        self._adopt(context, pointer.value, arrays if borrow else ())

    def _make_shell(self, operator, context, error_bound, diagonal, marks, of_complex=False):
        self.given = np.dtype(getattr(operator, "dtype", None) or np.float64)
        self.dtype, self.loss, self.row_losses = _arrays.real_dtype(_complex.real_type(self.given)), 0.0, None
        of_complex = of_complex or self.given.kind == "c"
        if of_complex:
            self.dtype = _complex.complex_type(self.dtype)
        self.like, self.borrowed, self.is_operator, self.operator = None, False, True, operator
        context = context_for(context, ())
        bound = error_bound or getattr(operator, "error_bound", None)
        self.bound, self.has_bound = bound, bound is not None
        diagonal = diagonal if diagonal is not None else getattr(operator, "diagonal", None)
        shell = _operators.shell_operator(context, operator.shape, operator.matvec,
                                          getattr(operator, "rmatvec", None), diagonal, bound, self._raised,
                                          of_complex)
        self.marks = tuple(bool(mark) for mark in marks)
        shell.symmetric, shell.positive_definite = self.marks
        shell.is_complex = of_complex
        size = 2 if of_complex else 1
        pointer = _new(lib.tess_matrix_create_shell, context, size * operator.shape[0], size * operator.shape[1],
                       ctypes.byref(shell))
        self._adopt(context, pointer, (shell, operator))

    @classmethod
    def _of(cls, context, pointer):
        matrix = cls.__new__(cls)
        matrix._raised, matrix._transpose, matrix._host_csr = [], None, None
        matrix.given = matrix.dtype = np.dtype(np.complex128 if lib.tess_matrix_is_complex(pointer) else np.float64)
        matrix.loss, matrix.like, matrix.borrowed, matrix.is_operator = 0.0, None, False, False
        matrix.row_losses = None
        return matrix._adopt(context, pointer)

    @classmethod
    def read(cls, path, *, context=None):
        """
        Reads a Matrix Market file, also compressed by gzip, SciPy's `.npz`, PETSc's binary file, or a binary cache
        (docs/howto/files.md).

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Matrix.read("data/nos3.mtx.gz")
        <tessera_sparse.Matrix: 960 by 960, 15844 nonzeros, FP64>
        """
        context, pointer = context_for(context, ()), ctypes.c_void_p()
        check(lib.tess_matrix_read(context.pointer, os.fsencode(path), ctypes.byref(pointer), None), context.pointer)
        return cls._of(context, pointer.value)

    @classmethod
    def gallery(cls, name, *arguments, context=None):
        """
        A model problem of `tessera generate` (docs/howto/gallery.md), such as laplace2d; "poisson2d" is that too.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Matrix.gallery("laplace2d", 100)
        <tessera_sparse.Matrix: 10000 by 10000, 49600 nonzeros, FP64>
        """
        context, pointer = context_for(context, ()), ctypes.c_void_p()
        name = _gallery_name(name)
        texts = (ctypes.c_char_p * max(len(arguments), 1))(*[str(argument).encode() for argument in arguments])
        try:
            check(lib.tess_gallery_create(context.pointer, name.encode(), len(arguments), ctypes.addressof(texts),
                                          ctypes.byref(pointer)), context.pointer)
        except TesseraFileError as error:
            if "tessera generate list" not in error.hint:
                raise
            raise type(error)(error.status, error.message, "there are: " + ", ".join(_gallery_names())) from None
        return cls._of(context, pointer.value)

    @property
    def nnz(self):
        """Stored entries; 0 for an operator."""
        return lib.tess_matrix_nnz(self.pointer) // (4 if self.is_complex else 1)

    @property
    def ndim(self):
        return 2

    def csr(self):
        """
        Host arrays (data, indices, indptr), copied.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Matrix([[2.0, 0.0], [1.0, 3.0]]).csr()
        (array([2., 1., 3.]), array([0, 0, 1], dtype=int32), array([0, 1, 3]))
        """
        if self.is_complex:
            return _complex_csr(*self.form.csr())
        data, indices = np.empty(self.nnz), np.empty(self.nnz, dtype=np.int32)
        indptr = np.empty(self.shape[0] + 1, dtype=np.int64)
        with self.context.lock:
            check(lib.tess_matrix_get_csr(self.pointer, _arrays.address(indptr), _arrays.address(indices),
                                          _arrays.address(data)), self.context.pointer)
        return data, indices, indptr

    def to_scipy(self):
        """The matrix as a `scipy.sparse.csr_array`."""
        from scipy.sparse import csr_array
        data, indices, indptr = self.csr()
        return csr_array((data, indices, indptr.astype(np.int32) if data.size < 2**31 else indptr), shape=self.shape)

    @property
    def T(self):
        """The transposed matrix; this one itself if it is symmetric."""
        if self._transpose is None:
            self._transpose = self._make_transpose()
        return self._transpose

    @property
    def H(self):
        """The conjugate transpose: of a real matrix `T`; this one itself if it is Hermitian."""
        if not self.is_complex:
            return self.T
        if self._adjoint is None:
            self._adjoint = self._make_adjoint()
        return self._adjoint

    _adjoint = None

    def _make_adjoint(self):
        if self.is_operator:
            from ._linear_operator import TransposedOperator
            return Matrix(TransposedOperator(self.operator), context=self.context, symmetric=self.marks[0],
                          positive_definite=self.marks[1])
        if self.analyze()["numerically_symmetric"] == 1:
            return self
        data, indices, indptr, shape = transposed_csr(*self.csr(), self.shape)[0]
        return Matrix((data.conj(), indices, indptr, shape), context=self.context)._take_types(self, True)

    def _make_transpose(self):
        if self.is_operator:
            from ._linear_operator import TransposedOperator
            return Matrix(TransposedOperator(self.operator, conjugated=self.is_complex), context=self.context,
                          symmetric=self.marks[0], positive_definite=self.marks[1])
        if not self.is_complex and self.analyze()["numerically_symmetric"] == 1:
            return self
        here = self.csr()
        parts = transposed_csr(*here, self.shape)[0]
        if self.is_complex and all(map(np.array_equal, here, parts[:3])):
            return self
        return Matrix(parts, context=self.context)._take_types(self, True)

    def matvec(self, x):
        """
        A x, for x of n values, or of n by k, whose columns are multiplied in one pass over A.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Matrix([[2.0, 1.0], [1.0, 3.0]]).matvec([1.0, 2.0])
        array([4., 7.])
        """
        if isinstance(x, (list, tuple)):
            x = np.asarray(x)
        if self.is_complex:
            return _complex.restored(self.form.matvec(_complex.flattened(x)))
        if _complex.is_complex(x):
            return _complex.applied(self.matvec, x)
        if getattr(x, "ndim", 1) == 2 and x.shape[1] != 1:
            if not self.is_operator and not _arrays.on_device(x):
                return _columns.multiplied(self, x)
            return np.stack([self.matvec(x[:, j]) for j in range(x.shape[1])], axis=1)
        with self.context.lock:
            source = _vectors.vector_of(self.context, x)
            target, fetch = _vectors.result_vector(self.context, self.shape[0], x)
            check(lib.tess_matrix_spmv(self.pointer, _abi.TESS_OP_NONE, 1.0, source.pointer, 0.0, target.pointer),
                  self.context.pointer, self._raised)
            y = fetch()
        return y.reshape(-1, 1) if getattr(x, "ndim", 1) == 2 else y

    __matmul__ = matvec
    matmat = matvec
    dot = matvec

    def __mul__(self, _other):
        raise TypeError("a Matrix multiplies by A @ x; * is not defined")

    def rmatvec(self, x):
        """
        A^T x, or A^H x of a complex matrix, for x of n values, or of n by k. SciPy's lsqr, bicg and svds ask for it.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Matrix([[2.0, 1.0], [0.0, 3.0]]).rmatvec([1.0, 2.0])
        array([2., 7.])
        """
        return self.H.matvec(x)

    rmatmat = rmatvec

    def __array__(self, *_arguments, **_keywords):
        raise TypeError("a Matrix is no array; to_scipy() has it as a sparse one, and to_scipy().toarray() as a dense "
                        "one")

    def update_values(self, values):
        """
        New values on the same pattern, in the order of `csr()`. Solvers made from the matrix take them at their next
        solve. A matrix that was read in place copies its pattern once.

        Examples
        --------
        >>> import numpy as np, tessera_sparse as ts
        >>> A = ts.Matrix([[2.0, 1.0], [1.0, 3.0]])
        >>> A.update_values(np.array([4.0, 1.0, 1.0, 5.0]))
        >>> A @ [1.0, 1.0]
        array([5., 6.])
        """
        if self.is_complex:
            form = self.form
            form.update_values(_complex.flattened(values if _arrays.on_device(values) else
                                                  _arrays.host_array(values, "values", True).reshape(-1)))
            self.loss, self._transpose, self._adjoint = 2.0 * form.loss, None, None
            return
        context = self.context
        with context.lock:
            if context.on_gpu and _arrays.on_device(values):
                values = _arrays.to_double(values, context)
                where, memory = _arrays.device_address(values), _abi.TESS_MEMORY_DEVICE
            else:
                values = _arrays.host_array(values, "values")
                self._note_loss(values.reshape(-1), lambda: self.csr()[2])
                values = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
                where, memory = _arrays.address(values), _abi.TESS_MEMORY_HOST
            if int(np.prod(values.shape)) != self._values:
                of_complex = self._values != self.nnz
                raise ValueError(f"{counted(int(np.prod(values.shape)) // (2 if of_complex else 1), 'value')} for "
                                 f"{counted(self.nnz // (4 if of_complex else 1), 'nonzero')}")
            check(lib.tess_matrix_update_values(self.pointer, where, _abi.TESS_PRECISION_FP64, memory),
                  context.pointer)
        if self.borrowed:
            self.handle.keep = (values,) + tuple(self.handle.keep[1:])
        if self._transpose is not None and self._transpose is not self:
            self._transpose = None

    @property
    def _values(self):
        """How many numbers `update_values` takes."""
        return self.nnz

    def diagonal(self):
        """The main diagonal, as a NumPy array."""
        if self.is_complex:
            return self.to_scipy().diagonal()
        vector, fetch = _vectors.result_vector(self.context, min(self.shape), None)
        with self.context.lock:
            check(lib.tess_matrix_diagonal(self.pointer, vector.pointer), self.context.pointer, self._raised)
            return fetch()

    def analyze(self):
        """
        Facts about the matrix: those of `tessera info`, as a dict. Of a complex one: of its real form, which has two
        rows and columns for each, and is symmetric where the matrix is Hermitian.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Matrix.gallery("laplace2d", 10).analyze()["numerically_symmetric"]
        1
        """
        facts = new_struct(_abi.tess_matrix_analysis)
        with self.context.lock:
            check(lib.tess_matrix_analyze(self.pointer, ctypes.byref(facts)), self.context.pointer)
        return to_dict(facts)

    def residual(self, b, x):
        """
        (norm, bound) of b - A x, computed in two words: | norm - ||b - A x|| | <= bound. NaN: unknown (operator).

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Matrix([[2.0, 1.0], [1.0, 3.0]]).residual([4.0, 7.0], [1.0, 2.0])
        (0.0, 0.0)
        """
        if self.is_complex:
            return self.form.residual(_complex.flattened(b), _complex.flattened(x))
        norm, bound = ctypes.c_double(), ctypes.c_double()
        with self.context.lock:
            right, left = _vectors.vector_of(self.context, b), _vectors.vector_of(self.context, x)
            check(lib.tess_verify_residual(self.pointer, right.pointer, left.pointer, None, ctypes.byref(norm),
                                           ctypes.byref(bound)), self.context.pointer, self._raised)
        return norm.value, bound.value

    def spy(self, ax=None, **keywords):
        """Draws the pattern, coloured by the precision that each value needs (needs matplotlib). Returns the axes."""
        from ._plot import spy
        return spy(self, ax, **keywords)

    def __repr__(self):
        kind = "operator" if self.is_operator else f"{counted(self.nnz, 'nonzero')}, FP64"
        kind = f"complex {kind}" if self.is_complex else kind
        return f"<tessera_sparse.Matrix: {self.shape[0]} by {self.shape[1]}, {kind}>"


class _Form(Matrix):
    """The real form of a complex matrix, in the same memory."""

    def __init__(self, matrix):
        self._raised, self._transpose, self._host_csr = matrix._raised, None, None
        self.given, self.dtype = (_complex.real_type(kind) for kind in (matrix.given, matrix.dtype))
        self.loss, self.row_losses, self.like, self.borrowed = matrix.loss, None, None, False
        self.is_operator, self.context, self.pointer = matrix.is_operator, matrix.context, matrix.pointer
        self.handle, self.shape = matrix.handle, tuple(2 * size for size in matrix.shape)
        if self.is_operator:
            self.operator, self.bound, self.has_bound, self.marks = (matrix.operator, matrix.bound, matrix.has_bound,
                                                                     matrix.marks)
        self.owner = matrix

    @property
    def _values(self):
        return self.nnz // 2

    def _make_transpose(self):
        return self if self.owner.H is self.owner else self.owner.H.form


def is_form(matrix):
    """Whether a matrix is the real form of a complex one."""
    return isinstance(matrix, _Form)


def _complex_csr(data, indices, indptr):
    """CSR arrays of a complex matrix from those of its real form: the even rows have re and -im of each entry."""
    lengths = np.diff(indptr)[::2]
    first = np.repeat(indptr[:-1:2], lengths // 2)
    start = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths // 2, out=start[1:])
    place = first + 2 * (np.arange(start[-1]) - np.repeat(start[:-1], lengths // 2))
    return data[place] - 1j * data[place + 1], indices[place] // 2, start


def transposed_csr(data, indices, indptr, shape):
    """((data, indices, indptr, shape) of the transposed matrix, order of its values in `data`)."""
    order = np.argsort(indices, kind="stable")
    rows = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(indptr))
    start = np.zeros(shape[1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(indices, minlength=shape[1]), out=start[1:])
    return (data[order], rows[order], start, (shape[1], shape[0])), order


def _host_csr(data, indices, indptr):
    data, indices, indptr = (_arrays.host_array(part, name) for part, name in (
        (data, "data"), (indices, "indices"), (indptr, "indptr")))
    if data.dtype.newbyteorder("<").str not in _arrays.PRECISIONS or not data.dtype.isnative:
        data = data.astype(np.float64)
    indices, indptr = _index_array(indices, "indices"), _index_array(indptr, "indptr")
    return tuple(np.ascontiguousarray(part).reshape(-1) for part in (data, indices, indptr))


def _index_array(array, name):
    if array.dtype in (np.int32, np.int64):
        return array
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} has elements of type {array.dtype}; wanted are integers")
    return array.astype(np.int64)


def _device_csr(data, indices, indptr, context):
    indices, indptr = _arrays.imported(indices, context), _arrays.imported(indptr, context)
    for part, name in ((indices, "indices"), (indptr, "indptr")):
        if (_arrays.dtype_of(part) or np.dtype(np.int32)) not in (np.int32, np.int64):
            raise TypeError(f"{name} on a GPU has elements of type {part.dtype}; wanted are int32 or int64")
    if not (isinstance(data, DeviceMemory) and data.dtype == np.float32):
        data = _arrays.to_double(data, context)
    return data, indices, indptr


def _csr_struct(arrays, shape, gpu):
    csr = new_struct(_abi.tess_csr_arrays)
    data, indices, indptr = arrays
    csr.nrows, csr.ncols = shape
    csr.nnz = int(data.shape[0])
    where = _arrays.device_address if gpu else _arrays.address
    csr.val, csr.col_ind, csr.row_ptr = where(data) or 64, where(indices) or 64, where(indptr) or 64
    csr.val_precision = _arrays.PRECISIONS[(_arrays.dtype_of(data) or np.dtype(np.float64)).str]
    csr.col_ind_bits, csr.row_ptr_bits = (8 * _arrays.dtype_of(part).itemsize for part in (indices, indptr))
    csr.where = _abi.TESS_MEMORY_DEVICE if gpu else _abi.TESS_MEMORY_HOST
    return csr


_GALLERY = {"poisson": "laplace2d", "poisson1d": "laplace1d", "poisson2d": "laplace2d", "poisson3d": "laplace3d"}


def _gallery_name(name):
    """As the tool has it: laplace_2d, Laplace2D and poisson2d are laplace2d."""
    plain = str(name).replace("_", "-").lower()
    for each in (plain, plain.replace("-", ""), _GALLERY.get(plain.replace("-", ""), "")):
        if each in _gallery_names():
            return each
    return str(name)


def _gallery_names():
    count = ctypes.c_size_t()
    first = lib.tess_gallery_list(ctypes.byref(count))
    first = getattr(first, "value", first) or 0
    size = ctypes.sizeof(_abi.tess_gallery_entry)
    return [_abi.tess_gallery_entry.from_address(first + k * size).name.decode() for k in range(count.value)]


def as_matrix(A, context=None):
    return A if isinstance(A, Matrix) else Matrix(A, context=BY_SIZE if context is None else context)
