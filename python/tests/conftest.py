# SPDX-License-Identifier: Apache-2.0
"""Tests run in the repository's root, where data/ is. Those that need a package that is missing are skipped."""
import os
import signal

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# A shell starts what it leaves in the background with Ctrl-C ignored, and so would be the tests' own.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)
