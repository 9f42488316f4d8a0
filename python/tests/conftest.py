# SPDX-License-Identifier: Apache-2.0
"""Tests run in the repository's root, where data/ is. Those that need a package that is missing are skipped."""
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)
