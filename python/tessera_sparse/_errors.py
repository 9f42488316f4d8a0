# SPDX-License-Identifier: Apache-2.0
"""Exceptions."""
import math
import re


def spelled(text):
    """A message of the library with options as keywords: `--amg-cycle`, also `row_order (--row-order)`, is one word."""
    text = re.sub(r"\b[a-z]+[._][a-z._]+ \((--[a-z.-]+)\)", r"\1", text)
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9]*(?:[-.][a-z0-9]+)*)", lambda match: re.sub("[-.]", "_", match[1]), text)


def counted(number, noun):
    """1 row, 2 rows."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


class TesseraError(RuntimeError):
    """
    A call of the library failed.

    Attributes: `status` (its name in C, such as "singular"), `message` (what went wrong), `hint` (what would help;
    may be empty), `file` and `line` (of an input file; else "" and 0).
    """

    def __init__(self, status, message, hint="", file="", line=0):
        self.status, self.message, self.hint, self.file, self.line = status, message, hint, file, line
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(where + message + (f"\n  hint: {hint}" if hint else ""))

    def __reduce__(self):  # so that it comes back from a process of a pool
        return type(self), (self.status, self.message, self.hint, self.file, self.line)


class TesseraValueError(TesseraError, ValueError):
    """An argument has no meaning, is out of range, or does not fit another."""


class TesseraMemoryError(TesseraError, MemoryError):
    """The memory of the host or of the device is not enough."""


class TesseraUnsupportedError(TesseraError, NotImplementedError, ValueError):
    """The request has a meaning, but this build, device or format does not support it."""


class TesseraFileError(TesseraError, OSError):
    """A file is missing, damaged, or cannot be read or written."""

    def __str__(self):
        return self.args[0]


class ConvergenceError(TesseraError):
    """A solve that had to succeed did not. `result` is the `Result`, with the best x known."""

    def __init__(self, result):
        rows = result.rows["relative"]
        unbounded = result.converged and not math.isfinite(result.residual_bound)  # of a user's products
        super().__init__(result.reason, f"no verified solution: {result.reason_text}; true relative residual "
                         f"{result.relative_residual:.2e}" + (f", of scaled rows {rows:.2e}" if rows == rows else "") +
                         f", wanted {result.rtol:.2e}" + (", but nothing bounds its error" if unbounded else ""),
                         "ts.Matrix(A, error_bound=...) bounds the error of the operator's products" if unbounded else
                         "look at error.result: why, attempts, history")
        self.result = result

    def __reduce__(self):
        return ConvergenceError, (self.result,)


_KINDS = {
    "out_of_memory": TesseraMemoryError, "out_of_device_memory": TesseraMemoryError,
    "invalid_argument": TesseraValueError, "dimension_mismatch": TesseraValueError,
    "out_of_range": TesseraValueError, "unsupported": TesseraUnsupportedError, "not_found": TesseraFileError,
    "io": TesseraFileError, "parse": TesseraFileError, "corrupt": TesseraFileError,
}


def error_of(_status, name, message, hint, file="", line=0):
    """The exception of a status."""
    return _KINDS.get(name, TesseraError)(name, message, hint, file, line)
