# SPDX-License-Identifier: Apache-2.0
"""
Signals while the library computes. Python runs the handlers of signals in its main thread, between instructions of
Python: during a call of the library none would run. The library calls back about every 50 ms
(tess_context_set_interrupt_check), so that they run, and stops if one raises an exception, such as KeyboardInterrupt.
"""
import signal
import threading

from . import _abi
from ._library import lib


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
    if context.watched or threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    raised = []
    answers = _answers(raised)
    next(answers)
    callback = _abi.tess_interrupt_check(answers.send)
    handler = signal.getsignal(signal.SIGINT)
    try:
        if callable(handler):
            signal.signal(signal.SIGINT, _collecting(handler, raised))
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
            signal.signal(signal.SIGINT, handler)
    if raised:
        if release is not None:
            release()
        raise raised[0].with_traceback(None)
    return status


_NONE = _abi.tess_interrupt_check()
