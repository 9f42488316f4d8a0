# SPDX-License-Identifier: Apache-2.0
"""
Options of a solve as keyword arguments: those of the library's list (tessera/options.h), by the names of the command
line (`--max-iterations` is `max_iterations`), their paths (`gmres_restart`), and last words that only one option has.
"""
import ctypes
import decimal
import difflib
import functools
import itertools
import math
import numbers
import operator
import os
from typing import NamedTuple

from . import _abi
from ._context import choose
from ._errors import spelled
from ._library import lib, new_struct
from ._multigrid import ARRAYS

_HINTS = {"tol": "rtol", "maxiter": "max_iterations", "maxit": "max_iterations", "ksp_rtol": "rtol",
          "preconditioner": "precond", "method": "solver", "M": "precond", "callback": "monitor",
          "B": "near_nullspace", "restrt": "restart", "tolerance": "rtol"}
_NUMBERS_ALONE = ("integer", "seed", "real", "field")  # no text but auto
_LISTS = ("precisions", "levels", "schedule", "text")
_WHOLE, _REAL = ("integer", "seed", "flag", "words", "bytes"), ("real", "share", "accuracy", "field")


class Option(NamedTuple):
    """An option of the list; or a number within a name, such as S of idr:S, whose type is "field"."""
    name: str
    path: tuple
    scope: int
    type: str
    words: tuple
    low: float
    high: float
    standard: str
    needs: str
    section: int
    help: str


# Numbers within a name: {keyword: (path, what)}
_NUMBERS = {
    "s": ("idr.s", "S of solver idr:S"), "drop": ("precond.threshold.drop", "T of precond ilut:T:F, ict:T:F"),
    "fill": ("precond.threshold.fill", "F of precond ilut:T:F, ict:T:F"),
    "level": ("precond.threshold.level", "K of precond iluk:K"),
    "count": ("precond.jacobi_sweeps.count", "K of precond jacobi-sweeps:K"),
    "power": ("precond.inverse.power", "K of precond fsai:K, isai:K"),
    "block_jacobi_block_size": ("precond.block_jacobi.block_size", "K of precond block-jacobi:K"),
    "polynomial_degree": ("precond.polynomial.degree", "D of precond polynomial:D"),
}


def listed_options():
    """The library's list, without the studies of the papers, which the package leaves to the tool."""
    buffer = ctypes.create_string_buffer(_abi.TESS_OPTION_TEXT)
    for index in itertools.count():
        address = lib.tess_option_at(index)
        if not address:
            return
        entry = _abi.tess_option.from_address(address)
        if entry.section < _abi.TESS_SECTION_PAPERS:
            lib.tess_option_help(address, buffer, len(buffer))
            yield Option(entry.name.decode(), tuple(entry.path.decode().split(".")), entry.scope, entry.type.decode(),
                         tuple((entry.words or b"").decode().split("|")), entry.low, entry.high,
                         entry.standard.decode(), entry.needs.decode(), entry.section,
                         spelled(buffer.value.decode()).replace("\n", "; "))


@functools.lru_cache(None)
def option_table():
    """{keyword: Option}"""
    table, leaves = {}, {}
    for option in listed_options():
        table[spelled("--" + option.name)] = table["_".join(option.path)] = option
        leaves.setdefault(option.path[-1], []).append(option)
    for name, (path, what) in _NUMBERS.items():
        scope = _abi.TESS_OPTION_OF_PRECOND if path.startswith("precond") else _abi.TESS_OPTION_OF_SOLVE
        table[name] = table[path.replace(".", "_")] = Option(name, tuple(path.split(".")), scope, "field", (), 0.0, 0.0,
                                                              "", "", _abi.TESS_SECTION_NONE, what)
    for leaf, found in leaves.items():
        depth = min(len(option.path) for option in found)
        nearest = [option for option in found if len(option.path) == depth]
        if len(nearest) == 1 and all(table[name].path == nearest[0].path for name in _ending(leaf, table)):
            table.setdefault(leaf, nearest[0])
    return table


def _ending(leaf, table):
    """The options' own names that end with a word: block_size is that of amg_block_size and of bsr_block_size."""
    return [name for name, option in table.items()
            if name.endswith("_" + leaf) and name in (option.name, spelled("--" + option.name))]


def option_names():
    """Keywords that `Solver` and `solve` take, with what each does: a dict."""
    names = {name: option.help for name, option in sorted(option_table().items())}
    names.update(ARRAYS)
    names["monitor"] = "called at each iteration with iteration, residual norm, tolerance, seconds; true cancels"
    names["last_iterate"] = "after a solve that does not converge, x is the method's last iterate"
    return names


def unknown(name, known):
    ending = [] if name in _HINTS else [repr(other) for other in _ending(name, option_table())]
    near = _HINTS.get(name) or next(iter(difflib.get_close_matches(name, known, 1, 0.5)), None)
    said = " or ".join(ending) if ending else repr(near) if near else ""
    return TypeError(f"there is no option {name!r}" + (f"; did you mean {said}?" if said else "") +
                     ". tessera_sparse.option_names() lists them")


def _owner(options, option):
    """The struct that the field of an option is in."""
    return functools.reduce(getattr, option.path[:-1], options)


def _open_number(option):
    """The number that stands for auto, if one does."""
    return getattr(_owner(new_options(), option), option.path[-1]) if option.standard == "auto" else None


def _scalar(value):
    """A number of Python or of NumPy, also as an array of one element, as a Python number; else the value itself."""
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "item") and math.prod(shape) == 1:
        value = value.item()
    if isinstance(value, (str, bytes, bool, int, float)):
        return value
    if hasattr(value, "__index__") and shape is None:
        return operator.index(value)
    return float(value) if isinstance(value, (numbers.Real, decimal.Decimal)) else value


def _number(option, name, value):
    """A number as text; None: the value is none."""
    given, value = value, _scalar(value)
    number = isinstance(value, (int, float))
    if not number and option.type in _NUMBERS_ALONE and not (isinstance(value, str) and value == "auto"):
        raise TypeError(f"{name}={given!r} is no number")
    if not number:
        return None
    if option.type in _REAL:
        return "auto" if value == _open_number(option) else repr(float(value))
    if not math.isfinite(value) or int(value) != value:
        raise TypeError(f"{name}={given!r} is no whole number")
    whole = int(value)
    if option.type == "words":
        return option.words[whole] if 0 <= whole < len(option.words) else str(whole)
    return "auto" if whole == _open_number(option) else str(whole)


def _text(option, name, value):
    """A value as the command line takes it."""
    number = _number(option, name, value) if option.type in _WHOLE + _REAL else None
    if number is not None:
        return number
    if isinstance(value, (list, tuple)) and option.type in _LISTS:
        return ",".join(str(item) for item in value)
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}={value!r} is no text" + (" or number" if option.type in _WHOLE + _REAL else ""))
    return str(value) if option.type == "text" else str(value).replace("_", "-")


def _call(function, *arguments):
    """A function of options.h whose message becomes a ValueError."""
    message = ctypes.create_string_buffer(_abi.TESS_OPTION_TEXT)
    if function(*arguments, message, len(message)) != 0:
        raise ValueError(spelled(message.value.decode()))


def _set(options, option, name, value, keep):
    if option.type == "field":
        text, owner = _number(option, name, value), _owner(options, option)
        if text is None:
            raise TypeError(f"{name}={value!r} is no number")
        setattr(owner, option.path[-1], type(getattr(owner, option.path[-1]))(float(text)))
        return
    text = _text(option, name, value).encode()
    if option.type == "text":
        keep.append(text)
    _call(lib.tess_options_set, ctypes.byref(options), option.name.encode(), text)


def new_options():
    return new_struct(_abi.tess_solve_options)


_ready: dict = {}
_MOST_READY = 64


def options_with(values, keep):
    """
    A tess_solve_options with keyword arguments set. Settings that came before are copied: `cg` makes a solver in each
    call, and reading the texts of its few options would take a third of the time that Python has there.
    """
    if not all(type(value) in (str, int, float) for value in values.values()):
        options = new_options()
        set_options(options, values, keep)
        return options
    key = tuple(values.items())
    if key not in _ready:
        options, texts = new_options(), []
        set_options(options, values, texts)
        keep.extend(texts)
        if texts:  # they are this solver's own
            return options
        if len(_ready) >= _MOST_READY:
            _ready.clear()
        _ready[key] = bytes(options)
    return _abi.tess_solve_options.from_buffer_copy(_ready[key])


def set_options(options, values, keep, scope=None):
    """
    Sets keyword arguments in a tess_solve_options, all of one `scope` if given; None leaves one as it is. `keep`
    holds what it points to.
    """
    table = option_table()
    for name in values:
        if name not in table and name != "monitor":
            raise unknown(name, [*table, *ARRAYS])
        if scope is not None and table[name].scope != scope:
            raise TypeError(f"{name!r} is an option of a solve, and not of a preconditioner")
    # Numbers within a name come after it.
    for name in sorted(values, key=lambda name: name in table and table[name].type == "field"):
        if name != "monitor" and values[name] is not None:
            _set(options, table[name], name, values[name], keep)
    for name in values:
        if name in _NUMBERS and values[name] is not None and not _names_it(options, name):
            raise ValueError(f"{name} is {_NUMBERS[name][1]}; name that one")


def _names_it(options, name):
    """Whether the solver or the preconditioner is one whose name has this number: the help says which."""
    kind, value = ("tess_solver_kind", options.solver) if name == "s" else ("tess_precond_kind", options.precond.kind)
    words = [word.split(":")[0] for word in _NUMBERS[name][1].replace(",", "").split() if ":" in word]
    return any(choose(kind, word, name) == value for word in words)


def refuse_for_object(values):
    """Options of a preconditioner that the solver does not make."""
    for name in values:
        if name in option_table() and option_table()[name].scope == _abi.TESS_OPTION_OF_PRECOND:
            raise ValueError(f"{name} is for a preconditioner that is named; give it where you make the object")


def check_precond(options):
    """Refuses options of a preconditioner that have no effect."""
    _call(lib.tess_precond_options_check, ctypes.byref(options))


class Progress:
    """What a monitor sees: `iteration`, `residual_norm` (the method's estimate), `tolerance`, `elapsed_seconds`."""

    __slots__ = ("iteration", "residual_norm", "tolerance", "elapsed_seconds")

    def __init__(self, seen):
        self.iteration, self.residual_norm = seen.iteration, seen.residual_norm
        self.tolerance, self.elapsed_seconds = seen.tolerance, seen.elapsed_seconds

    def __repr__(self):
        return f"<iteration {self.iteration}: {self.residual_norm:.3e}>"


def monitor_function(callback, raised):
    """A C function that calls `callback(progress)`. An exception cancels the solve and is put into `raised`."""
    def call(_user, address):
        if raised:  # one more call may come before the solve ends
            return 1
        try:
            return 1 if callback(Progress(_abi.tess_progress.from_address(address))) else 0
        except BaseException as error:  # KeyboardInterrupt too: C cannot let it through
            raised.append(error)
            return 1
    return _abi.tess_monitor(call)
