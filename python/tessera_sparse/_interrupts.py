# SPDX-License-Identifier: Apache-2.0
"""
Signals while the library computes. Python runs the handlers of signals in its main thread, between instructions of
Python: during a call of the library none would run. The library calls back about every 50 ms
(tess_context_set_interrupt_check), so that they run, and stops if one raises an exception, such as KeyboardInterrupt.
"""
import _signal  # the module signal makes enumerations of all that it takes and returns, which takes microseconds
import importlib
import sys
import threading

from . import _abi
from ._finalizers import handlers_in_place
from ._library import lib


def _answers(raised):
    """
    The callback, as a generator: the handlers run as it goes on, within a `try`. A function would have no place to
    catch what they raise: they run before its first line. They also run where a loop begins again, so that each loop
    lies within a `try`: what leaves the generator ends it for good, and no later signal would end the call.
    """
    while True:
        try:
            while True:
                try:
                    while True:
                        try:
                            while True:
                                yield 1 if raised else 0
                        except GeneratorExit:
                            return
                        except BaseException as error:
                            raised.append(error)
                except BaseException as error:  # of another signal, while the first was noted
                    raised.append(error)
        except BaseException as error:  # and of a third, while the second was
            raised.append(error)


def _collecting(handler, raised):
    """A handler that keeps what the other raises: it may run at the beginning of any callback, which would lose it."""
    def handle(number, frame):
        try:
            handler(number, frame)
        except BaseException as error:
            raised.append(error)
    return handle


def _give_back(handlers, collecting):
    """The handlers as they were, but for those that a handler itself has replaced."""
    for each, handler in handlers:
        if _signal.getsignal(each) is collecting.get(each):
            _signal.signal(each, handler)


def interruptible(context, function, *arguments, release=None):
    """
    function(*arguments), which may take long. In the main thread, the handlers of signals run meanwhile; an exception
    of theirs ends the call early, and is raised here, after `release()` of what the call may have made.
    """
    if context.watched or (handlers := handlers_in_place()) is None:
        return function(*arguments)
    raised, callback = _callback_of(context)
    raised.clear()
    collecting, status = {}, None
    try:  # the handler of a signal that is not collected may raise at any of these lines: none may stay undone
        try:
            for each, handler in handlers:
                collecting[each] = _collecting(handler, raised)
                _signal.signal(each, collecting[each])
            context.watched = True
            lib.tess_context_set_interrupt_check(context.pointer, callback, None)
            status = function(*arguments)
        finally:
            try:
                context.watched = False
                lib.tess_context_set_interrupt_check(context.pointer, _NONE, None)
            finally:
                _give_back(handlers, collecting)
    except BaseException as error:
        raised.append(error)
    if raised:
        first = raised[0].with_traceback(None)
        context.answers = None
        if release is not None:
            release()
        raise first
    return status


def import_whole(name):
    """
    The module of that name, for a function that needs it late. A handler that raises does so after the import: Python
    keeps the parts of a package that is half imported, and the next import of it fails.
    """
    if name in sys.modules or (handlers := handlers_in_place()) is None:
        return importlib.import_module(name)
    raised, collecting = [], {}
    try:
        for each, handler in handlers:
            collecting[each] = _collecting(handler, raised)
            _signal.signal(each, collecting[each])
        module = importlib.import_module(name)
    finally:
        _give_back(handlers, collecting)
    if raised:
        raise raised[0].with_traceback(None)
    return module


def _callback_of(context):
    """(list of what handlers raised, the callback): made once for each context."""
    if context.answers is None:
        raised = []
        answers = _answers(raised)
        next(answers)
        context.answers = raised, _abi.tess_interrupt_check(answers.send)
    return context.answers


_NONE = _abi.tess_interrupt_check()
