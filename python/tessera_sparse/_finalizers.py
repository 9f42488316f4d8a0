# SPDX-License-Identifier: Apache-2.0
"""
Finalizers that lose no signal. What a handler raises while `__del__` runs, Python prints and drops: Ctrl-C in the
milliseconds in which a matrix is freed would be lost, and what comes next would go on for hours.
"""
import _signal
import _thread
import ctypes
import threading

# Signals whose handlers are known to raise: Ctrl-C, time limits, requests to end.
COLLECTED = tuple(getattr(_signal, name) for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2",
                                                      "SIGVTALRM", "SIGXCPU") if hasattr(_signal, name))


def handlers_in_place():
    """[(signal, handler)], or None where Python lets nobody set them: outside the main thread and interpreter."""
    if threading.get_ident() != threading.main_thread().ident:
        return None
    handlers = [(each, handler) for each in COLLECTED if callable(handler := _signal.getsignal(each))]
    try:
        for each, handler in handlers[:1]:
            _signal.signal(each, handler)
    except ValueError:  # not the main interpreter
        return None
    return handlers


_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in_thread.argtypes, _raise_in_thread.restype = [ctypes.c_ulong, ctypes.py_object], ctypes.c_int


def finalize(function, *arguments):
    """
    function(*arguments), of a finalizer. The handlers of signals that arrive meanwhile run once the finalizer is over:
    another thread asks for it, whose turn comes then.
    """
    if not (handlers := handlers_in_place()):
        return function(*arguments)
    noted = []
    try:
        for each, _ in handlers:
            _signal.signal(each, lambda number, frame: noted.append(number))
        function(*arguments)
    finally:
        for each, handler in handlers:
            _signal.signal(each, handler)
        for number in noted:
            _thread.start_new_thread(_thread.interrupt_main, (number,))


def raise_later(error):
    """What a handler has raised between the lines of a finalizer, raised anew once that is over."""
    if isinstance(error, KeyboardInterrupt):
        _thread.start_new_thread(_thread.interrupt_main, ())
    else:
        _thread.start_new_thread(_raise_in_thread, (threading.main_thread().ident, type(error)))
