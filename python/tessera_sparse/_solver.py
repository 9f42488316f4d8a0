# SPDX-License-Identifier: Apache-2.0
"""Solvers: one set-up for many right-hand sides."""
import ctypes
import functools
import math

import numpy as np

from . import _abi, _arrays, _columns, _complex, _handed_out, _vectors
from ._errors import counted
from ._interrupts import interruptible
from ._library import Handle, check, enum_name, lib, said_last, to_dict, new_struct
from ._matrix import Matrix, context_for
from ._multigrid import levels_of, saddle_of, set_arrays, taken_from
from ._options import monitor_function, options_with, refuse_for_object, set_options, unknown
from ._precond import FunctionPreconditioner, Preconditioner, matrix_beside
from ._result import Result

_OWN_BUFFERS = 16384  # up to this many values b and x are copied to the solver's vectors: cheaper than making new ones
_LIMITS = {"rtol", "atol", "divergence_tolerance", "max_iterations", "guard", "monitor"}


@functools.lru_cache(None)
def _empty_result():
    return bytes(new_struct(_abi.tess_solve_result))


class Solver:
    """
    A method that is set up for a matrix.

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
    context : Context, optional
    precond : str, Preconditioner, matrix, LinearOperator or function, optional
        A text such as "ilut:1e-3:10" (docs/reference/preconditioners.md), or z = M r.
    progress : bool or callable
        True: a bar by tqdm. A function gets each iteration's `iteration`, `residual_norm`, `tolerance` and
        `elapsed_seconds`, and cancels the solve if it returns something true.
    last_iterate : bool
        Where a solve does not converge, x is the method's last iterate, with its own true residual, as SciPy has it;
        else (default) the best of the ends of cycles and the initial guess.
    **options
        Options of the solve, by the names of the command line: solver="cg", rtol=1e-8, max_iterations=500,
        restart=30, precision="fp64", ... `tessera_sparse.option_names()` lists them; docs/python/options.md explains.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> solver = ts.Solver(ts.Matrix.gallery("laplace2d", 50), solver="cg", precond="ic0", rtol=1e-8)
    >>> [solver.solve(b).converged for b in (np.ones(2500), np.arange(2500.0))]
    [True, True]
    """

    def __init__(self, A, *, context=None, precond=None, progress=None, monitor=None, last_iterate=False, **options):
        given = matrix_beside(A, context, precond)
        if not isinstance(precond, str) and _complex.is_complex(precond):
            given = given.complexified()
        self._given, self.matrix, self.is_complex = given, given.form, given.is_complex
        if context is not None and self.matrix.context is not context:
            raise ValueError("A belongs to another context; Matrix(A, context=...) copies it to this one")
        self.context = self.matrix.context
        self._raised, self._keep, self._values = self.matrix._raised, [], dict(options, last_iterate=last_iterate)
        self._of_transpose = None
        if isinstance(precond, str):
            options["precond"] = self._values["precond"] = precond
        elif precond is not None:
            refuse_for_object(options)
        arrays = taken_from(options)
        if last_iterate:
            options["iterate"] = "last"
        self.options = options_with(options, self._keep)
        set_arrays(self.options.precond, arrays, self.matrix, self._keep)
        self._bar, self._share = progress is True, 1.0
        self._set_monitor(monitor or (progress if callable(progress) else None))
        self.precond = None if precond is None or isinstance(precond, str) else self._own_precond(precond)
        self._create()
        self._prepare()

    def _own_precond(self, precond):
        if (isinstance(precond, Preconditioner) and precond.context is self.context and
                precond.is_complex == self.is_complex):
            return precond
        return FunctionPreconditioner(self.matrix, precond)

    def _set_monitor(self, monitor):
        self._monitor = monitor
        if monitor is None:
            self.options.monitor = type(self.options.monitor)()
        else:
            self.options.monitor = monitor_function(monitor, self._raised)

    def _create(self):
        pointer, parents = ctypes.c_void_p(), [self.matrix.handle]

        def release():
            lib.tess_solver_destroy(pointer)
        with self.context.lock:
            if self.precond is None:
                status = interruptible(self.context, lib.tess_solver_create, self.matrix.pointer,
                                       ctypes.byref(self.options), ctypes.byref(pointer), release=release)
            else:
                parents.append(self.precond.handle)
                status = interruptible(self.context, lib.tess_solver_create_with_precond, self.matrix.pointer,
                                       self.precond.pointer, ctypes.byref(self.options), ctypes.byref(pointer),
                                       release=release)
            check(status, self.context.pointer, self._carried())
        self.pointer = pointer.value
        self.handle = Handle(self.pointer, lib.tess_solver_destroy, tuple(parents), (self._keep, self.precond))

    def _carried(self):
        """Exceptions that callbacks of the operator or the preconditioner left."""
        if self.precond is not None and self.precond._raised:
            return self.precond._raised
        return self._raised

    def _prepare(self):
        """What each solve needs, made once."""
        self._empty = _empty_result()
        self._solve, self._vectors = lib.tess_solver_solve, None
        nrows, ncols = self.matrix.shape
        if not self.context.on_gpu and max(nrows, ncols) <= _OWN_BUFFERS:
            self._b, self._x = np.zeros(nrows), np.zeros(ncols)
            self._vectors = _vectors.wrap_host(self.context, self._b), _vectors.wrap_host(self.context, self._x)
        self._explains = self.options.solver == _abi.TESS_SOLVER_AUTO

    def solve(self, b, x0=None, *, transpose=False):
        """
        Solves A x = b and verifies the result.

        Parameters
        ----------
        b : array of n values, or of n by k: k right-hand sides, whose iterations read the matrix together where the
            method can (docs/howto/several-right-hand-sides.md)
        x0 : array of the shape of x, optional
            The initial guess (0).
        transpose : bool
            True: solves A^T x = b, by `transposed()`, which is kept for later ones.

        Returns
        -------
        Result
            A solve that does not converge is no error: look at `converged` and `reason`.

        Examples
        --------
        >>> import tessera_sparse as ts
        >>> ts.Solver(ts.Matrix([[2.0, 1.0], [1.0, 3.0]]), solver="cg", rtol=1e-12).solve([3.0, 5.0]).x.round(12)
        array([0.8, 1.4])
        """
        if transpose:
            if self._of_transpose is None:
                self._of_transpose = self.transposed()
            return self._of_transpose.solve(b, x0)
        return self._solve_typed(b, x0, None)

    def _solve_typed(self, b, x0, dtype):
        """As `solve`, with x in a NumPy type (its parts, if it is complex); None: that of `_handed_out.type_of_x`."""
        if self.is_complex:
            return self._solve_form(b, x0, dtype)
        if _complex.is_complex(b) or _complex.is_complex(x0):
            return self._solve_parts(b, x0, dtype)
        return self._solve_real(b, x0, dtype)

    def _solve_form(self, b, x0, dtype):
        b = b if hasattr(b, "shape") else np.asarray(b)
        shape = tuple(b.shape)
        if shape[:1] != (self.matrix.shape[0] // 2,) or len(shape) > 2:
            raise ValueError(f"b has the shape {shape}; the matrix has "
                             f"{counted(self.matrix.shape[0] // 2, 'row')}")
        result = self._solve_real(_complex.flattened(b), None if x0 is None else _complex.flattened(x0), dtype)
        for column in result.columns:
            if column is not result:
                column.x = _complex.restored(column.x)
        result.x = _complex.restored(result.x)
        return result

    def _solve_parts(self, b, x0, dtype):
        """A real matrix: the real parts are right-hand sides, and the imaginary ones."""
        b = b if hasattr(b, "shape") else np.asarray(b)
        result = self._solve_real(_complex.parts(b), None if x0 is None else _complex.parts(x0), dtype)
        result.x = _complex.joined(result.x, _complex.shape_of_x(self.matrix.shape[1], b))
        return result

    def _solve_real(self, b, x0, dtype):
        result = self._solve_judged(b, x0, dtype)
        if not result.verified:
            _handed_out.warn_of_rows(self.matrix, result, self.options)
        return result

    def _solve_judged(self, b, x0, dtype):
        if type(b) is np.ndarray and b.dtype == np.float64 and b.ndim == 1 and not self._bar and not self.matrix.loss:
            return self._solve_one(b, x0, b)
        dtype = dtype or _handed_out.type_of_x(self.matrix, b)
        if not _handed_out.is_rounded(dtype, b):
            return self._solve_shaped(b, x0, dtype)
        with self.context.lock:
            self._aim(0.5)  # leaves room for the rounding of x
            try:
                return self._solve_shaped(b, x0, dtype)
            finally:
                self._aim(1.0)

    def _aim(self, share):
        """Solves to a share of the tolerances; results still have the whole one."""
        self.options.rtol *= share / self._share
        self.options.atol *= share / self._share
        self._share = share
        self._apply_limits()

    def _solve_shaped(self, b, x0, dtype):
        if self.context.on_gpu and _arrays.on_device(b):
            array = _arrays.to_double(b, self.context)
        else:
            array = _arrays.host_array(b, "b")
        shape = tuple(array.shape if hasattr(array, "shape") else array.__cuda_array_interface__["shape"])
        if len(shape) == 1 or len(shape) == 2 and shape[1] == 1:
            column = array.reshape(-1) if len(shape) == 2 else array
            result = self._solve_one(column, x0, array)
            result.x = self._as_asked(result.x, b, (self.matrix.shape[1],) + shape[1:], dtype)
            _handed_out.judge_rounded(self.matrix, result, result.x.reshape(-1), column, _arrays.lost_in_double(array))
            return result
        if len(shape) != 2:
            raise ValueError(f"b has the shape {shape}; wanted are {counted(self.matrix.shape[0], 'value')}, "
                             "or columns of as many")
        return self._solve_columns(b, array, x0, dtype)

    def _as_asked(self, x, b, shape, dtype):
        if _arrays.owner_of(b) == "numpy":
            return (_handed_out.rounded(x, dtype) if isinstance(x, np.ndarray) else x).reshape(shape)
        return _arrays.in_owner_of(b, x if tuple(x.shape) == shape else x.reshape(shape), dtype)

    def _solve_columns(self, b, array, x0, dtype):
        x0 = self._guesses(x0, array.shape[1])
        if array.shape[0] != self.matrix.shape[0]:
            raise ValueError(f"b has the shape {tuple(array.shape)}; the matrix has "
                             f"{counted(self.matrix.shape[0], 'row')}")
        columns = []
        while len(columns) < array.shape[1]:
            j = len(columns)
            if self._takes_together(array, x0, j):
                columns += self._solve_together(array[:, j:], None if x0 is None else x0[:, j:])
                break
            start = None if x0 is None else x0[:, j]
            column = array[:, j]
            if not isinstance(column, np.ndarray):
                column = _arrays.to_double(column, self.context)
            columns.append(self._solve_one(column, start, column))
        if not columns:
            raise ValueError("b has no columns")
        first = columns[0].x
        if isinstance(first, np.ndarray):
            x = np.stack([c.x for c in columns], axis=1)
        else:
            import sys
            x = sys.modules[_arrays.owner_of(first)].stack([c.x for c in columns], 1)
        x = self._as_asked(x, b, x.shape, dtype)
        for j, result in enumerate(columns):
            column = array[:, j]
            _handed_out.judge_rounded(self.matrix, result, x[:, j], column, _arrays.lost_in_double(column))
        return Result.of_columns(x, columns)

    def _guesses(self, x0, columns):
        """x0 with a column for each column of b."""
        if x0 is None:
            return None
        x0 = np.asarray(x0) if isinstance(x0, (list, tuple)) else x0
        wanted, shape = (self.matrix.shape[1], columns), tuple(getattr(x0, "shape", ()))
        if shape != wanted:
            raise ValueError(f"x0 has the shape {shape}, and x has {wanted}: give x0 the shape of x")
        return x0

    def _takes_together(self, array, x0, first):
        """Whether the columns from the first on go to one call. A monitor sees the iterations of one column."""
        if not isinstance(array, np.ndarray) or self._bar or self._monitor is not None:
            return False
        if x0 is not None and _arrays.on_device(x0):
            return False
        return lib.tess_solver_columns_together(self.pointer, array.shape[1] - first) > 1

    def _solve_together(self, b, x0):
        count = b.shape[1]
        b = _columns.in_place(b)
        x = np.zeros((self.matrix.shape[1], count), order="F")
        if x0 is not None:
            x[:] = _arrays.host_array(x0, "x0")
        with self.context.lock:
            results = self._solve_structs(_columns.described(b), _columns.described(x))
        for j, result in enumerate(results):
            result.x = x[:, j]
        return results

    def _solve_structs(self, b, x):
        """tess_solver_solve_many for structs of columns, with guesses in x: a Result without x for each column."""
        raws = (_abi.tess_solve_result * b.columns).from_buffer_copy(self._empty * b.columns)
        status = interruptible(self.context, lib.tess_solver_solve_many, self.pointer, ctypes.byref(b),
                               ctypes.byref(x), raws)
        carried = self._carried()
        if carried:  # several columns may have raised
            first = carried[0]
            carried.clear()
            raise first
        check(status, self.context.pointer)
        return [self._result(None, _abi.tess_solve_result.from_buffer_copy(raw)) for raw in raws]

    def _solve_one(self, b, x0, like):
        nrows, ncols = self.matrix.shape
        size = math.prod(b.shape)
        if size != nrows:
            raise ValueError(f"b has {counted(size, 'value')}; the matrix has {counted(nrows, 'row')}")
        x0 = _arrays.imported(x0, self.context)
        if x0 is not None and math.prod(np.shape(x0) if isinstance(x0, (list, tuple)) else x0.shape) != ncols:
            raise ValueError(f"x0 has not the {counted(ncols, 'value')} of x")
        context = self.context
        with context.lock:
            if self._bar:
                return self._with_bar(b, x0, like)
            if self._vectors is not None and isinstance(b, np.ndarray):
                self._b[:] = b
                self._x[:] = 0.0 if x0 is None else _arrays.host_array(x0, "x0").reshape(-1)
                raw = self._call(self._vectors[0], self._vectors[1])
                return self._result(self._x.copy(), raw)
            right = _vectors.vector_of(context, b)
            left, fetch = _vectors.result_vector(context, ncols, like, x0)
            raw = self._call(right, left)
            return self._result(fetch(), raw)

    def _call(self, b, x):
        raw = _abi.tess_solve_result.from_buffer_copy(self._empty)
        status = interruptible(self.context, self._solve, self.pointer, b.pointer, x.pointer, ctypes.byref(raw))
        if status or self._raised:
            carried = self._carried()
            check(status, self.context.pointer, carried)
            raise carried.pop()  # an exception of a monitor cancelled the solve
        return raw

    def _result(self, x, raw):
        history = ctypes.string_at(raw.history, 8 * raw.history_length) if raw.history else b""
        why = attempts = b""
        if self._explains:
            why = lib.tess_solver_why(self.pointer) or b""
            first = ctypes.c_void_p()
            count = lib.tess_solver_attempts(self.pointer, ctypes.byref(first))
            if count:
                attempts = ctypes.string_at(first.value, count * ctypes.sizeof(_abi.tess_attempt))
        if not why and raw.reason == _abi.TESS_REASON_PRECOND_SETUP:
            why = said_last(self.context.pointer)
        raw.tolerance /= self._share
        raw.rows.tolerance /= self._share
        return Result(x, raw, history, why, attempts, self.options.rtol / self._share)

    def _with_bar(self, b, x0, like):
        from ._progress import bar
        before = self._monitor
        self._bar = False
        try:
            with bar() as step:
                self._set_monitor(step if before is None else lambda seen: step(seen) or before(seen))
                self._apply_limits()
                return self._solve_one(b, x0, like)
        finally:
            self._bar = True
            self._set_monitor(before)
            self._apply_limits()

    def iterate(self):
        """
        The current x, for a monitor while it is called: of cg, bicgstab, minres and idr on the host.

        Examples
        --------
        >>> import numpy as np, tessera_sparse as ts
        >>> seen = []
        >>> solver = ts.Solver(ts.Matrix.gallery("laplace2d", 5), solver="cg")
        >>> solver.set_limits(monitor=lambda progress: seen.append(solver.iterate()))
        >>> x = solver.solve(np.ones(25)).x
        >>> bool(np.all(seen[-1] == x))
        True
        """
        x = np.empty(self.matrix.shape[1])
        check(lib.tess_solver_get_iterate(self.pointer, _arrays.address(x)), self.context.pointer)
        return _complex.restored(x) if self.is_complex else x

    def _apply_limits(self):
        check(lib.tess_solver_set_limits(self.pointer, ctypes.byref(self.options)), self.context.pointer)

    def set_limits(self, **limits):
        """
        Changes rtol, atol, divergence_tolerance, max_iterations, guard or monitor, without a new set-up.

        Examples
        --------
        >>> import numpy as np, tessera_sparse as ts
        >>> solver = ts.Solver(ts.Matrix.gallery("laplace2d", 20), solver="cg")
        >>> solver.set_limits(rtol=1e-10)
        >>> solver.solve(np.ones(400)).relative_residual <= 1e-10
        True
        """
        for name in limits:
            if name not in _LIMITS:
                raise unknown(name, _LIMITS)
        set_options(self.options, {k: v for k, v in limits.items() if k != "monitor"}, self._keep)
        if "monitor" in limits:
            self._set_monitor(limits["monitor"])
        with self.context.lock:
            self._apply_limits()
        self._values.update(limits)
        self._of_transpose = None

    def update_values(self, values):
        """
        New values of the matrix on the same pattern. The next solve renews the set-up.

        Examples
        --------
        >>> import numpy as np, tessera_sparse as ts
        >>> solver = ts.Solver(ts.Matrix([[2.0, 1.0], [1.0, 3.0]]), solver="cg", rtol=1e-12)
        >>> solver.update_values(np.array([4.0, 1.0, 1.0, 3.0]))
        >>> solver.solve([5.0, 4.0]).x.round(12)
        array([1., 1.])
        """
        self._given.update_values(values)
        self._of_transpose = None
        if self.precond is not None and type(self.precond) is Preconditioner:
            self.precond.update()

    def transposed(self):
        """A solver of A^T x = b with the same options; this one itself if A is symmetric."""
        transpose = self._given.T
        if transpose is self._given:
            return self
        values = dict(self._values)
        if self.precond is not None:
            precond = self.precond
            if type(precond) is not Preconditioner:
                raise NotImplementedError("a preconditioner that is a function has no transpose")
            values.update(precond._made_from)
        return Solver(transpose, **values)

    @property
    def amg(self):
        """The levels of precond="amg", as a dict with the names of `amg` in the tool's JSON."""
        return levels_of(lib.tess_solver_precond(self.pointer), self.context)

    @property
    def saddle(self):
        """The blocks of precond="saddle", as a dict with the names of `saddle` in the tool's JSON."""
        return saddle_of(lib.tess_solver_precond(self.pointer), self.context)

    @property
    def chosen(self):
        """Options that request by hand what the last solve ended with, as a dict."""
        options = new_struct(_abi.tess_solve_options)
        check(lib.tess_solver_chosen_options(self.pointer, ctypes.byref(options)), self.context.pointer)
        return to_dict(options)

    def __repr__(self):
        nrows, ncols = self._given.shape
        return f"<tessera_sparse.Solver: {enum_name('tess_solver_kind', self.options.solver)}, {nrows} by {ncols}>"


def solve(A, b, x0=None, **options):
    """
    Solves A x = b. Without a named method the library looks at the matrix, tries, and says why.

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
    b : array of n values, or of n by k
    x0 : array, optional
        The initial guess (0).
    **options
        Those of `Solver`, such as solver="cg", precond="ic0", rtol=1e-8.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> result = ts.solve(ts.Matrix.read("data/sherman4.mtx.gz"), np.ones(1104), rtol=1e-10)
    >>> result.verified, result.relative_residual <= 1e-10
    (True, True)
    """
    if isinstance(A, Solver):
        if options:
            raise TypeError("a Solver has its options: " + ", ".join(options) + " cannot be given here")
        return A.solve(b, x0)
    context = options.pop("context", None)
    if context is None and not isinstance(A, Matrix) and _arrays.on_device(b):
        context = context_for(None, (b,))
    if getattr(b, "ndim", 1) == 2 and b.shape[1] > 1:
        options.setdefault("reorder", "none")  # columns go together in the order that the matrix has
    return Solver(A, context=context, **options).solve(b, x0)
