# SPDX-License-Identifier: Apache-2.0
"""
Signals while the library computes. Python runs the handlers of signals in its main thread, between instructions of
Python: during a call of the library none would run. The library calls back about every 50 ms
(tess_context_set_interrupt_check), so that they run, and stops if one raises an exception, such as KeyboardInterrupt.
"""
import _signal  # the module signal makes enumerations of all that it takes and returns, which takes microseconds
import threading

from . import _abi
from ._library import lib

_SIGINT = _signal.SIGINT


def _answers(raised):
    """
    The callback, as a generator: the handlers run as it goes on, within the `try`. A function would have no place to
    catch what they raise: they run before its first line.
    """
    answer = 0
    while True:
        try:
            yield answer
            answer = 1 if raised else 0
        except GeneratorExit:
            return
        except BaseException as error:
            raised.append(error)
            answer = 1


def _collecting(handler, raised):
    """A handler that keeps what the other raises: it may run at the beginning of any callback, which would lose it."""
    def handle(number, frame):
        try:
            handler(number, frame)
        except BaseException as error:
            raised.append(error)
    return handle


def interruptible(context, function, *arguments, release=None):
    """
    function(*arguments), which may take long. In the main thread, the handlers of signals run meanwhile; an exception
    of theirs ends the call early, and is raised here, after `release()` of what the call may have made.
    """
    if context.watched or threading.get_ident() != threading.main_thread().ident:
        return function(*arguments)
    raised, callback = _callback_of(context)
    raised.clear()
    handler = _signal.getsignal(_SIGINT)
    try:
        if callable(handler):
            _signal.signal(_SIGINT, _collecting(handler, raised))
    except ValueError:  # not the main interpreter
        return function(*arguments)
    context.watched = True
    lib.tess_context_set_interrupt_check(context.pointer, callback, None)
    try:
        status = function(*arguments)
    finally:
        lib.tess_context_set_interrupt_check(context.pointer, _NONE, None)
        context.watched = False
        if callable(handler):
            _signal.signal(_SIGINT, handler)
    if raised:
        first = raised[0].with_traceback(None)
        context.answers = None
        if release is not None:
            release()
        raise first
    return status


def _callback_of(context):
    """(list of what handlers raised, the callback): made once for each context."""
    if context.answers is None:
        raised = []
        answers = _answers(raised)
        next(answers)
        context.answers = raised, _abi.tess_interrupt_check(answers.send)
    return context.answers


_NONE = _abi.tess_interrupt_check()
