# SPDX-License-Identifier: Apache-2.0
"""What a solve did."""
import ctypes
import difflib
import math

import numpy as np

from . import _abi
from ._errors import counted
from ._library import enum_name, lib, to_dict


# What other libraries call it.
_USUAL = {"success": "converged", "info": "reason", "message": "reason_text", "nit": "iterations",
          "niter": "iterations", "residual": "residual_norm", "residuals": "history", "solution": "x"}


class Attempt:
    """One attempt of an automatic solve; attributes are those of `tess_attempt` (include/tessera/automatic.h)."""

    def __init__(self, raw):
        self.__dict__.update(to_dict(raw))

    def __repr__(self):
        end = "left" if self.left else self.reason if self.status == "success" else self.status
        return f"<{self.solver}, {self.precond}: {end}, {counted(self.iterations, 'iteration')}>"


class Result:
    """
    What a solve did.

    Attributes
    ----------
    x : array
        The solution, or the best x known, in the library and type of b.
    converged, verified : bool
        Whether the true residual meets the tolerance, and whether that is proved (the rounding bound is known).
    reason : str
        Why the solve ended, such as "rtol", "iterations", "false_convergence"; `reason_text` says it in words.
    iterations : int
    residual_norm, relative_residual, residual_bound : float
        The true ||b - A x||_2, the same over ||b||, and the bound on the rounding error of the first.
    rows : dict
        The true residual with each row divided by its largest magnitude: `norm`, `relative`, `bound`, `tolerance`,
        `met`; and the row-wise `backward_error`, with its `backward_row`. NaN for an operator.
    stop_norm : str
        The norm that decided: "given", "rows", "both" or "preconditioned".
    history : array
        Estimated residual norms at iterations 0, 1, ...
    why : str
        For solver "auto": what was found, tried and taken.
    attempts : list of Attempt
        For solver "auto": the attempts, in order.
    setup_seconds, solve_seconds : float
    precisions : dict
        What was stored in which precision.
    columns : list of Result
        For b with several columns: one for each. The attributes above are then those of the worst column.

    All other fields of `tess_solve_result` (include/tessera/solver.h) are attributes too; `to_dict()` has all.

    `bool(result)` is `converged`.

    Examples
    --------
    >>> import numpy as np, tessera_sparse as ts
    >>> result = ts.solve(ts.Matrix.gallery("laplace2d", 50), np.ones(2500), solver="cg", rtol=1e-8)
    >>> result.converged, result.reason, result.residual_norm + result.residual_bound <= result.tolerance
    (True, 'rtol', True)
    """

    def __init__(self, x, raw, history, why, attempts, rtol):
        self.x, self.rtol = x, rtol
        self.converged, self.verified, self.iterations = bool(raw.converged), bool(raw.verified), raw.iterations
        self._raw, self._history, self._why, self._attempts = raw, history, why, attempts
        self._said = None  # why the x that is handed out misses the tolerance
        self.columns = [self]

    def __getstate__(self):
        raw = type(self._raw).from_buffer_copy(self._raw)
        raw.history = None  # an address; `_history` has the values
        return dict(self.__dict__, _raw=bytes(raw))

    def __setstate__(self, state):
        self.__dict__.update(state, _raw=_abi.tess_solve_result.from_buffer_copy(state["_raw"]))

    @classmethod
    def of_columns(cls, x, columns):
        """The result of several right-hand sides: that of the worst, with all of x."""
        worst = max(columns, key=lambda c: (not c.verified, not c.converged, c.relative_residual, c.iterations))
        result = cls(x, worst._raw, worst._history, worst._why, worst._attempts, worst.rtol)
        result.columns, result._said = columns, worst._said
        result.converged, result.verified = worst.converged, worst.verified
        return result

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            value = getattr(self._raw, name)
        except AttributeError:
            near = _USUAL.get(name) or next(iter(difflib.get_close_matches(name, dir(self), 1, 0.6)), None)
            raise AttributeError(f"a result has no {name!r}" +
                                 (f"; did you mean {near!r}?" if near else "")) from None
        enums = _abi.FIELD_ENUMS["tess_solve_result"]
        if name in enums:
            return enum_name(enums[name], value)
        return to_dict(value) if isinstance(value, ctypes.Structure) else value

    def __dir__(self):  # what Tab offers
        fields = [name for name, _ in self._raw._fields_ if name not in ("size", "reserved")]
        return sorted(set(object.__dir__(self)) | set(fields))

    def __bool__(self):
        """Whether the solve converged."""
        return self.converged

    @property
    def reason_text(self):
        return self._said or lib.tess_reason_text(self._raw.reason).decode()

    @property
    def rows(self):
        found = to_dict(self._raw.rows)
        return dict(found, met=bool(found["met"]))

    @property
    def history(self):
        return np.frombuffer(self._history, dtype=np.float64)

    @property
    def why(self):
        return self._why.decode(errors="replace")

    @property
    def attempts(self):
        size = ctypes.sizeof(_abi.tess_attempt)
        return [Attempt(_abi.tess_attempt.from_buffer_copy(self._attempts, k))
                for k in range(0, len(self._attempts), size)]

    @property
    def phase_seconds(self):
        """Seconds by phase, with timings=1: a dict."""
        names = [(enum_name("tess_phase", k), self._raw.phase_seconds[k]) for k in range(_abi.TESS_PHASE_COUNT)]
        return {name: seconds for name, seconds in names if seconds} if self._raw.timed else {}

    @property
    def precisions(self):
        raw = self._raw
        found = {"matrix": enum_name("tess_precision", raw.storage.precision), "residual": "fp64"}
        counts = raw.storage.nonzeros_per_precision
        used = {enum_name("tess_precision", k): counts[k] for k in range(_abi.TESS_PRECISION_COUNT) if counts[k]}
        if len(used) > 1:
            found["matrix"] = used
        for part in ("inner", "basis"):
            role = getattr(raw.gmres, part)
            if role.given:
                found[part] = (f"{enum_name('tess_precision', role.storage)}/"
                               f"{enum_name('tess_arithmetic', role.arithmetic)}")
        if self.attempts:
            found["preconditioner"] = self.attempts[-1].factors
        return found

    def to_dict(self):
        """All fields of the C result, by name."""
        fields = to_dict(self._raw)
        fields["phase_seconds"] = self.phase_seconds
        fields["why"] = self.why
        return fields

    def plot(self, ax=None, **keywords):
        """Draws the residual norms by iteration (needs matplotlib). Returns the axes."""
        from ._plot import plot_history
        return plot_history(self, ax, **keywords)

    def _lines(self):
        said = "converged" if self.verified else "converged, not verified" if self.converged else "NOT CONVERGED"
        kind = enum_name("tess_precond_kind", self._raw.precond.kind)
        yield "result", f"{said}: {self.reason_text.removeprefix('converged: ')}"
        yield "method", f"{self.solver}, preconditioner {kind}"
        yield "iterations", str(self.iterations)
        yield "residual", (f"{self.relative_residual:.3e} relative, TRUE; norm {self.residual_norm:.3e}, "
                           f"rounding bound {self.residual_bound:.1e}")
        rows = self._raw.rows
        if rows.norm == rows.norm:
            row = f" (row {rows.backward_row})" if rows.backward_row >= 0 else ""
            yield "", (f"{rows.relative:.3e} relative, TRUE, rows scaled to one size; backward error "
                       f"{rows.backward_error:.1e}{row}")
        if self._raw.accuracy.wanted > 0.0:
            yield from self._accuracy_lines()
        yield "tolerance", f"{self.tolerance:.3e}"
        if self._raw.stop_norm != _abi.TESS_STOP_NORM_GIVEN:
            yield "stop norm", self.stop_norm
        if self.why:
            yield "why", self.why
        if len(self.columns) > 1:
            good = sum(column.verified for column in self.columns)
            yield "columns", f"{len(self.columns)}, {good} verified; the worst is above"
        yield "time", f"{self.setup_seconds:.3g} s set-up, {self.solve_seconds:.3g} s solve"

    def _accuracy_lines(self):
        a = self._raw.accuracy
        known, most = math.isfinite(a.forward_error), max(a.backward_error, a.forward_error)
        yield "accuracy", (f"{a.wanted:.1e} wanted, " +
                           ("reached" if a.reached else "NOT REACHED" if most > a.wanted else "NOT KNOWN"))
        if a.source != _abi.TESS_CONDITION_UNKNOWN:
            yield "", (f"forward error {f'about {a.forward_error:.1e}' if known else 'not known'}; condition about "
                       f"{a.condition:.1e}, by {enum_name('tess_condition_source', a.source)}")
        yield "", f"backward error {a.backward_error:.1e}"

    def __repr__(self):
        return "\n".join(f"{name:<12}" + text.replace("\n", "\n" + 12 * " ") for name, text in self._lines())

    def _repr_html_(self):
        from html import escape
        colour = "#1b7f3b" if self.verified else "#b36b00" if self.converged else "#b3261e"
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>"
            + escape(text).replace("\n", "<br>") + "</td></tr>" for name, text in self._lines())
        return f"<table style='border-left:4px solid {colour}'>{rows}</table>"
