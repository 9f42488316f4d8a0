# SPDX-License-Identifier: Apache-2.0
"""The C library: where it is found, its functions, and its failures as exceptions."""
import ctypes
import os
from contextlib import contextmanager

from . import _abi
from ._errors import error_of, spelled
from ._finalizers import finalize, handlers_in_place, raise_later


def _candidates():
    """Beside the package, else where TESSERA_LIBRARY says, else the system's."""
    beside = os.path.join(os.path.dirname(__file__), "libtessera.so")
    if os.path.exists(beside):
        yield beside
    elif os.environ.get("TESSERA_LIBRARY"):
        yield os.environ["TESSERA_LIBRARY"]
    else:
        yield from (f"libtessera.so.{_abi.VERSION[0]}.{_abi.VERSION[1]}", "libtessera.so")


@contextmanager
def _sleeping_threads():
    """
    Idle OpenMP threads sleep after some microseconds, unless the environment says how they wait: on a loaded machine
    they would take the time that others need. OpenMP's runtime reads this when it is loaded; then it is taken back.
    """
    ways = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "0"}
    if "OMP_WAIT_POLICY" in os.environ or any(name in os.environ for name in ways):
        ways = {}
    os.environ.update(ways)
    try:
        yield
    finally:
        for name in ways:
            del os.environ[name]


def _load():
    failures = []
    for name in _candidates():
        try:
            with _sleeping_threads():
                return ctypes.CDLL(name, mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            failures.append(str(error))
    raise ImportError("the library libtessera.so cannot be loaded (" + "; ".join(failures) + "). Install the wheel "
                      "tessera-sparse, or name the file by the environment variable TESSERA_LIBRARY.")


def check_version(found, wanted):
    """Before 1.0 a minor version may break the interface; a later patch version only adds to it."""
    numbers = tuple(int(word) for word in found.split("."))
    if numbers[:2] != wanted[:2] or numbers < wanted:
        text = ".".join(map(str, wanted))
        raise ImportError(f"the library libtessera.so has version {found}, but this package was made for {text}. "
                          f"Install tessera-sparse {'.'.join(map(str, numbers[:2]))}, or a library of version "
                          f"{wanted[0]}.{wanted[1]} from {text} on (TESSERA_LIBRARY names its file).")


class Library:
    """Functions of the C library, each declared when it is first used."""

    def __init__(self):
        self._dll = _load()
        check_version(self.tess_version().decode(), _abi.VERSION)

    def __getattr__(self, name):
        try:
            result, arguments = _abi.FUNCTIONS[name]
        except KeyError:
            raise AttributeError(name) from None
        function = getattr(self._dll, name)
        function.restype, function.argtypes = result, arguments
        setattr(self, name, function)
        return function


lib = Library()


def new_struct(kind):
    """A struct such as _abi.tess_solve_options with its defaults, as long as this package knows it."""
    struct = kind()
    getattr(lib, kind.__name__ + "_init_sized")(ctypes.byref(struct), ctypes.sizeof(struct))
    return struct


def said_last(context):
    """The message and the hint of the last failure in a context, as bytes."""
    record = ctypes.cast(lib.tess_context_last_error(context), ctypes.POINTER(_abi.tess_error)).contents
    return record.message + (b"; " + record.hint if record.hint else b"")


def check(status, context=None, carried=None):
    """Raises the exception of a status that is not 0; `carried` is an exception of a callback, which goes first."""
    if status == 0:
        return
    if carried:
        raise carried.pop()
    record = None
    if context:
        record = ctypes.cast(lib.tess_context_last_error(context), ctypes.POINTER(_abi.tess_error)).contents
    text = lib.tess_status_text(status).decode()
    if record is None or record.status != status:
        raise error_of(status, lib.tess_status_name(status).decode(), text, "")
    raise error_of(status, lib.tess_status_name(status).decode(), spelled(record.message.decode(errors="replace")),
                   spelled(record.hint.decode(errors="replace")), record.file.decode(errors="replace"), record.line)


_names: dict = {}


def enum_values(enum):
    """{name on the command line: value} of an enum such as tess_format."""
    if enum not in _names:
        entry, values = lib.tess_enum_names(enum.encode()), {}
        size = ctypes.sizeof(_abi.tess_named_value)
        while entry:
            item = _abi.tess_named_value.from_address(entry)
            if item.name is None:
                break
            values[item.name.decode()] = item.value
            entry += size
        _names[enum] = values
    return _names[enum]


def enum_name(enum, value):
    for name, number in enum_values(enum).items():
        if number == value:
            return name
    return str(value)


def to_dict(struct):
    """A struct as a dict: enums as names, arrays as lists, without `size` and `reserved`."""
    enums, fields = _abi.FIELD_ENUMS.get(type(struct).__name__, {}), {}
    for name, kind in struct._fields_:
        if name in ("size", "reserved") or kind is ctypes.c_void_p:
            continue
        value = getattr(struct, name)
        if name in enums:
            value = enum_name(enums[name], value) if isinstance(value, int) else list(value)
        elif isinstance(value, ctypes.Structure):
            value = to_dict(value)
        elif isinstance(value, ctypes.Array):
            value = [to_dict(v) if isinstance(v, ctypes.Structure) else v for v in value]
        elif isinstance(value, bytes):
            value = value.decode(errors="replace")
        fields[name] = value
    return fields


class Handle:
    """
    Owns an object of the C library. It is destroyed after all handles made from it, also when Python collects a cycle,
    whose finalizers run in any order.
    """

    __slots__ = ("pointer", "_destroy", "_parents", "_children", "_dead", "keep", "__weakref__")

    def __init__(self, pointer, destroy, parents=(), keep=()):
        self._children, self._dead, self._parents = 0, False, ()
        self.keep, self._destroy, self.pointer = keep, destroy, pointer
        self._parents = parents
        for parent in parents:
            parent._children += 1

    def __reduce__(self):
        raise TypeError("matrices, preconditioners, solvers and contexts cannot be pickled or copied: they are objects "
                        "of the C library. Hand over arrays, such as Matrix.to_scipy()")

    def __del__(self):
        try:
            self._dead = True
            self._release()
        except AttributeError:  # a signal has ended __init__
            return
        except BaseException as error:
            if handlers_in_place() is None:
                raise
            self._release()
            raise_later(error)

    def _release(self):
        if not self._dead or self._children or not self.pointer:
            return
        pointer, self.pointer = self.pointer, None
        finalize(self._destroy, pointer)
        for parent in self._parents:
            parent._children -= 1
            parent._release()
