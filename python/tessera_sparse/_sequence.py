# SPDX-License-Identifier: Apache-2.0
"""Sequences of systems on one pattern: time steps, Newton steps."""
import ctypes

import numpy as np

from . import _abi, _arrays, _complex, _containers
from ._errors import counted
from ._interrupts import interruptible
from ._library import Handle, check, enum_values, lib, new_struct, to_dict
from ._result import Result
from ._solver import Solver


class SequenceResult(Result):
    """
    A `Result`, with what the step did.

    >>> import numpy as np, tessera_sparse as ts
    >>> with ts.Sequence(ts.Matrix.gallery("laplace2d", 10), solver="cg", precond="jacobi") as steps:
    ...     result = steps.solve(np.ones(100))
    >>> result.verified, result.renewed, result.why.splitlines()[0]
    (True, True, 'set up: the first step')

    Attributes
    ----------
    renewed : bool
        Whether the preconditioner was set up or renewed for this step's values.
    why : str
        Why it was renewed or kept, in the first line; then the lines of solver "auto".
    step : dict
        The fields of `tess_sequence_step` (include/tessera/sequence.h): `guess`, `guess_residual`, `products`,
        `age`, `extra_iterations`, ...
    """

    def __init__(self, x, raw, history, why, attempts, rtol, step):
        super().__init__(x, raw, history, why, attempts, rtol)
        self.step, self.renewed = step, bool(step["renewed"])


class _Steps(Solver):
    """A solver whose solves are steps: `incoming` has the new values of the next one."""

    def __init__(self, A, own, **options):
        self._own, self.incoming = own, None
        super().__init__(A, **options)

    def _create(self):
        pointer = ctypes.c_void_p()
        with self.context.lock:
            status = interruptible(self.context, lib.tess_sequence_create, self.matrix.pointer,
                                   ctypes.byref(self.options), ctypes.byref(self._own), ctypes.byref(pointer),
                                   release=lambda: lib.tess_sequence_destroy(pointer))
            check(status, self.context.pointer, self._carried())
        self.sequence = pointer.value
        self.pointer = lib.tess_sequence_solver(self.sequence)
        self.handle = Handle(self.sequence, lib.tess_sequence_destroy, (self.matrix.handle,), (self._keep,))

    def _prepare(self):
        super()._prepare()
        self._solve = self._step

    def _step(self, _, b, x, result):
        return lib.tess_sequence_solve(self.sequence, self.incoming, b, x, result)

    def _apply_limits(self):
        check(lib.tess_sequence_set_limits(self.sequence, ctypes.byref(self.options)), self.context.pointer)

    def _takes_together(self, array, x0, first):
        return False

    def _result(self, x, raw):
        plain = super()._result(x, raw)
        step = new_struct(_abi.tess_sequence_step)
        check(lib.tess_sequence_get_step(self.sequence, ctypes.byref(step)), self.context.pointer)
        why = b"\n".join(filter(None, (lib.tess_sequence_why(self.sequence), plain._why)))
        return SequenceResult(x, raw, plain._history, why, plain._attempts, plain.rtol, to_dict(step))


class Sequence:
    """
    Solves systems on one pattern one after another: each starts from a guess out of the last solutions, and a
    preconditioner is kept while that pays.

    Parameters
    ----------
    A : Matrix, or what `Matrix` takes
        The pattern, with the first values. Later ones go to `solve`; A keeps its own.
    kept_solutions : int
        The last so many make the guess (8); 0: the last x alone.
    renewal : str
        "auto" (default): a preconditioner of earlier values is renewed when the iterations that it cost took as long
        as a set-up. "counted": when they are more than `extra_iterations`, the same on every run. "always", "never".
    extra_iterations : int
    **options
        Those of `Solver`: solver="cg", precond="amg", rtol=1e-8, ...

    Examples
    --------
    >>> import numpy as np, scipy.sparse, tessera_sparse as ts
    >>> A = scipy.sparse.diags_array([-1.0, 3.0, -1.0], offsets=[-1, 0, 1], shape=(100, 100), format="csr")
    >>> with ts.Sequence(A, solver="cg", precond="ic0", rtol=1e-10) as sequence:
    ...     results = [sequence.solve(np.ones(100), values=A.data * (1.0 + 0.01 * k)) for k in range(3)]
    >>> [result.verified for result in results]
    [True, True, True]
    """

    def __init__(self, A, *, kept_solutions=8, renewal="auto", extra_iterations=20, **options):
        if options.get("precond") is not None and not isinstance(options["precond"], str):
            raise TypeError("a sequence makes its own preconditioner: name one, such as precond='amg'")
        own = new_struct(_abi.tess_sequence_options)
        words = enum_values("tess_renewal")
        if renewal not in words:
            raise ValueError(f"renewal is {renewal!r}; choose from {', '.join(words)}")
        own.kept_solutions, own.renewal, own.extra_iterations = kept_solutions, words[renewal], extra_iterations
        self._steps = _Steps(A, own, **options)
        self._given = self._steps._given
        self.matrix, self.context = self._steps.matrix, self._steps.context
        self._pattern, self._last = None, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Frees the sequence's memory; no step follows."""
        self._steps = self._last = None

    def _open(self):
        if self._steps is None:
            raise ValueError("the sequence is closed")
        return self._steps

    def solve(self, b, x0=None, *, values=None, A=None):
        """
        One step: solves A x = b and verifies the result.

        Parameters
        ----------
        b : array of n values
        x0 : array of the shape of x, optional
            One more guess. Default: the last x.
        values : array of nnz values, optional
            New values of the matrix, in the order of `Matrix.csr()`. NaN and Inf are refused.
        A : matrix of the same pattern, optional
            The same, with the pattern checked. Default: the values of the step before.

        Returns
        -------
        SequenceResult

        Examples
        --------
        >>> import numpy as np, tessera_sparse as ts
        >>> sequence = ts.Sequence(ts.Matrix.gallery("laplace2d", 30), solver="cg", precond="amg", rtol=1e-8)
        >>> for k in range(3):
        ...     result = sequence.solve(np.ones(900) + 0.1 * k)
        >>> result.verified, result.iterations, result.step["guess"]
        (True, 0, 'projected')
        """
        steps = self._open()
        if values is not None and A is not None:
            raise TypeError("give values or A, not both")
        if getattr(b, "ndim", 1) == 2 and b.shape[1] != 1:
            raise ValueError(f"b has {counted(b.shape[1], 'column')}; a step solves one system")
        if A is not None:
            values = self._values_of(A)
        with self.context.lock:
            steps.incoming, keep = self._described(values)
            try:
                result = steps.solve(b, self._last if x0 is None else x0)
            finally:
                steps.incoming = None
                del keep
        if result.converged:
            self._last = result.x.copy() if isinstance(result.x, np.ndarray) else result.x
        return result

    def _described(self, values):
        """(the struct of new values or None, what it points to)"""
        if values is None:
            return None, None
        if self._given.is_complex:
            on_device = self.context.on_gpu and _arrays.on_device(values)
            values = _complex.flattened(values if on_device else _arrays.host_array(values, "values", True).reshape(-1))
        if self.context.on_gpu and _arrays.on_device(values):
            values = _arrays.to_double(values, self.context)
            count, where = int(np.prod(values.shape)), _abi.TESS_MEMORY_DEVICE
            address = _arrays.device_address(values)
        else:
            values = np.ascontiguousarray(_arrays.host_array(values, "values"), dtype=np.float64).reshape(-1)
            count, where, address = values.size, _abi.TESS_MEMORY_HOST, _arrays.address(values)
        struct = _abi.tess_sequence_values(count=count, val=address, precision=_abi.TESS_PRECISION_FP64, where=where)
        return ctypes.byref(struct), (struct, values)

    def _values_of(self, A):
        """The values of A, whose pattern must be that of the sequence."""
        if self._pattern is None:
            self._pattern = self._given.csr()[1:]
        parts = A.csr() if hasattr(A, "csr") else _containers.csr_parts(A)
        if parts is None:
            raise TypeError("A is no sparse matrix; give its values, in the order of Matrix.csr()")
        data, indices, indptr = parts[:3]
        same = all(np.array_equal(_arrays.host_array(mine, "A"), _arrays.host_array(theirs, "A"))
                   for mine, theirs in zip(self._pattern, (indices, indptr)))
        if not same:
            raise ValueError("A has another pattern than the sequence; make a new Sequence for it")
        return data

    def set_limits(self, **limits):
        """Changes rtol, atol, max_iterations and other limits, as `Solver.set_limits` does: of inexact Newton steps."""
        self._open().set_limits(**limits)

    def forget(self):
        """Forgets the last solutions, before a jump that makes them useless."""
        check(lib.tess_sequence_forget(self._open().sequence), self.context.pointer)
        self._last = None

    def __repr__(self):
        if self._steps is None:
            return "<tessera_sparse.Sequence: closed>"
        return repr(self._steps).replace("Solver", "Sequence")
