# SPDX-License-Identifier: Apache-2.0
"""
Options of a solve as keyword arguments. Their names are those of the command line and of the C struct, and come from
the headers: `--max-iterations` is `max_iterations`, `options.gmres.restart` is `restart` or `gmres_restart`.
"""
import ctypes
import difflib
import functools
import re

from . import _abi
from ._context import choose
from ._library import check, lib, new_struct
from ._multigrid import ARRAYS

# Words of the command line that no comment of the headers names, and words of other libraries.
_ALIASES = {
    "matrix_precision": ("storage", "precision"), "precond_precision": ("precond", "role"),
    "max_padding": ("storage", "slices", "max_padding"), "window": ("storage", "slices", "window"),
    "sell_window": ("storage", "slices", "window"), "polynomial_form": ("precond", "polynomial", "form"),
    "precond_steps": ("precond", "jacobi_sweeps", "schedule"), "precond_omega": ("precond", "jacobi_sweeps", "omega"),
    "precond_share": ("precond", "jacobi_sweeps", "storage", "policy", "share"),
    "amg_degree": ("precond", "amg", "degree"), "amg_block_size": ("precond", "amg", "block_size"),
}
# Words of the command line that are no field of the struct: they set several, or one by the kind of preconditioner.
_WORDS = {
    "block": "--block (16x16): rows and columns of a block, 16x16, 16x32, 32x16 or 32x32",
    "levels": "--levels: precisions that a policy may assign, from high to low, such as 'fp64,fp32'",
    "precond_format": "--precond-format: of square blocks of triangles (csr), of jacobi-sweeps (composite)",
    "precond_levels": "--precond-levels: as levels, of --precond-policy",
    "precond_policy": "--precond-policy: of square blocks of triangles (none), of jacobi-sweeps (mean-range:0.1)",
}
_HINTS = {"tol": "rtol", "maxiter": "max_iterations", "maxit": "max_iterations", "ksp_rtol": "rtol",
          "preconditioner": "precond", "method": "solver", "M": "precond"}


@functools.lru_cache(None)
def option_table():
    """{keyword: (path, kind, comment)}: full paths, names of the command line, and unambiguous last words."""
    table, leaves = {}, {}
    for path, kind, comment in _abi.OPTIONS:
        entry = (path, kind, comment)
        table["_".join(path)] = entry
        leaves.setdefault(path[-1], []).append(entry)
    for entries in leaves.values():
        depth = min(len(path) for path, _, _ in entries)
        nearest = [entry for entry in entries if len(entry[0]) == depth]
        if len(nearest) == 1:
            table.setdefault(nearest[0][0][-1], nearest[0])
    for entry in list(table.values()):
        match = re.match(r"--([a-z][a-z0-9-]*)(?![\w-])", entry[2])
        if match and match.group(1) != "solver" and entry[1] != "accuracy" and entry[0][0] != "accuracy":
            table[match.group(1).replace("-", "_")] = entry
    for name, path in _ALIASES.items():
        table.setdefault(name, next(entry for entry in table.values() if entry[0] == path))
    return table


def option_names():
    """Keywords that `Solver` and `solve` take, with what the C header says of each: a dict."""
    names = {}
    for name, (path, _, comment) in sorted(option_table().items()):
        if "squares" not in path:
            names[name] = comment
    names.update(_WORDS)
    names.update(ARRAYS)
    names["monitor"] = "called at each iteration with iteration, residual norm, tolerance, seconds; true cancels"
    names["last_iterate"] = "after a solve that does not converge, x is the method's last iterate"
    return names


def unknown(name, known):
    near = _HINTS.get(name) or next(iter(difflib.get_close_matches(name, known, 1, 0.5)), None)
    return TypeError(f"there is no option {name!r}" + (f"; did you mean {near!r}?" if near else "") +
                     ". tessera_sparse.option_names() lists them")


def _parse(function, text, target, name):
    if getattr(lib, function)(str(text).encode(), ctypes.byref(target)) != 0:
        raise ValueError(f"{name}={text!r} cannot be read; docs/python/options.md has examples")


def _set_accuracy(target, value):
    text = str(value)
    try:
        if text.startswith("backward:"):
            target.backward = float(text.partition(":")[2])
        else:
            target.forward = float(text.removeprefix("forward:"))
    except ValueError:
        raise ValueError(f"accuracy={value!r} is no number such as 1e-8, and not 'backward:1e-12'") from None


def _set_level_precisions(amg, name, kind, value):
    """A precision of all levels, or a list such as "fp32,fp16" of the first ones, whose last goes on."""
    words = str(value).split(",") if isinstance(value, str) else list(value) if isinstance(value, (tuple, list)) else [
        value]
    most = len(amg.level_precision)
    if not 1 <= len(words) <= most:
        raise ValueError(f"{name}={value!r} is no list of 1 to {most} precisions such as 'fp32,fp16'")
    found = [choose(kind, word, name) for word in words]
    amg.precision = found[-1]
    amg.level_precision = type(amg.level_precision)(*(found if len(found) > 1 else []))


def _set_word(options, name, value):
    """An option of _WORDS."""
    sweeps = options.precond.kind == _abi.TESS_PRECOND_JACOBI_SWEEPS
    target = options.precond.jacobi_sweeps.storage if sweeps else options.precond.incomplete.squares
    if name == "block":
        if value not in ("16x16", "16x32", "32x16", "32x32"):
            raise ValueError(f"block={value!r} is none of: 16x16, 16x32, 32x16, 32x32")
        options.storage.policy.block_rows, options.storage.policy.block_cols = map(int, value.split("x"))
    elif name == "precond_format":
        target.format = choose("tess_format", value, name)
    elif name == "precond_policy":
        _parse("tess_policy_options_parse", value, target.policy, name)
    else:
        policy = options.storage.policy if name == "levels" else target.policy
        _parse("tess_precision_levels_parse", value, policy, name)


def _set(options, name, path, kind, value, keep):
    target = options
    for part in path[:-1]:
        target = getattr(target, part)
    leaf = path[-1]
    if kind == "precond":
        _parse("tess_precond_options_parse", value, options.precond, name)
    elif kind == "policy":
        _parse("tess_policy_options_parse", value, getattr(target, leaf), name)
    elif kind == "role":
        if path[-2:] == ("gmres", "inner") and value == "auto":
            options.gmres.inner_auto = 1
        else:
            _parse("tess_role_precision_parse", value, getattr(target, leaf), name)
    elif path == ("precond", "amg", "precision"):
        _set_level_precisions(options.precond.amg, name, kind, value)
    elif kind == "schedule":
        _parse("tess_schedule_parse", value, getattr(target, leaf), name)
    elif kind == "accuracy":
        _set_accuracy(target.accuracy, value)
    elif kind == "text":
        text = None if value is None else str(value).encode()
        keep.append(text)
        setattr(target, leaf, text)
    elif kind in ("int", "float"):
        setattr(target, leaf, _number(name, kind, value))
    elif kind == "tess_solver_kind" and str(value).lower().startswith("idr:"):
        setattr(target, leaf, choose(kind, "idr", name))
        words = str(value).partition(":")[2]
        if not words.isdecimal():
            raise ValueError(f"{name}={value!r}: give idr:S with S from 1 to 64")
        options.idr.s = int(words)
    else:
        setattr(target, leaf, choose(kind, value, name))
        if path == ("storage", "format"):  # csr too is then the caller's choice
            options.automatic.format_given = int(target.format != _abi.TESS_FORMAT_AUTO)


def _number(name, kind, value):
    if name == "precision":
        if value not in ("auto", "fp64", 0, 1):
            raise ValueError(f"precision={value!r} is none of: auto, fp64")
        return int(value in ("fp64", 1))
    if isinstance(value, str) or value is None:
        raise TypeError(f"{name}={value!r} is no number")
    if kind == "float":
        return float(value)
    if int(value) != value:
        raise TypeError(f"{name}={value!r} is no whole number")
    return int(value)


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


def set_options(options, values, keep):
    """Sets keyword arguments in a tess_solve_options. `keep` holds what it points to."""
    table, names = option_table(), []
    for name in values:
        if name not in table and name not in _WORDS and name != "monitor":
            raise unknown(name, [*table, *_WORDS, *ARRAYS])
        names.append(name)
    # A preconditioner and a policy set all their options to defaults: the others come after them.
    first = {"precond": 0, "policy": 1, "storage_policy": 1, "precond_policy": 1}
    for name in sorted(names, key=lambda n: first.get(n, 2)):
        if name in _WORDS:
            _set_word(options, name, values[name])
        elif name != "monitor":
            path, kind, _ = table[name]
            _set(options, name, path, kind, values[name], keep)


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
