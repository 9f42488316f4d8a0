# SPDX-License-Identifier: Apache-2.0
"""Examples of docstrings and of docs/python, and of pages of docs/howto, run; the tutorial's cells run; pictures are
drawn."""
import doctest
import importlib.util
import json
import os
import pkgutil
import re

import numpy as np
import pytest

import tessera_sparse as ts

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULES = [m.name for m in pkgutil.iter_modules(ts.__path__) if m.name not in ("_abi", "libtessera", "libtessera_xla")]
PAGES = sorted(name for name in os.listdir(os.path.join(ROOT, "docs/python")) if name.endswith(".md"))
PAGES += sorted(f"../howto/{name}" for name in os.listdir(os.path.join(ROOT, "docs/howto")) if name.endswith(".md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    pytest.importorskip("scipy")
    if name in ("torch", "jax", "lineax"):
        pytest.importorskip(name)
    done = doctest.testmod(importlib.import_module(f"tessera_sparse.{name}"), optionflags=FLAGS)
    assert done.failed == 0


@pytest.mark.parametrize("name", PAGES)
def test_pages(name):
    pytest.importorskip("scipy")
    with open(os.path.join(ROOT, "docs/python", name), encoding="utf-8") as file:
        text = file.read()
    missing = [f"import {library}" for library in ("torch", "jax", "lineax", "pyamg")
               if importlib.util.find_spec(library) is None]
    found = re.findall(r"^```python\n(>>>.*?)^```", text, re.S | re.M)
    blocks = "\n".join(block for block in found if not any(line in block for line in missing))
    if not blocks:
        pytest.skip("a page without examples in Python" if not found else "needs " + ", ".join(missing))
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(doctest.DocTestParser().get_doctest(blocks, {}, name, name, 0))
    assert runner.failures == 0 and runner.tries > 0


def test_every_public_name_has_an_example():
    for name in ts.__all__:
        thing = getattr(ts, name)
        if isinstance(thing, type) and issubclass(thing, Exception) or name == "default_context":
            continue
        assert thing.__doc__, name
        assert ">>>" in thing.__doc__ or name == "option_names", name


def test_the_tutorial_runs(monkeypatch):
    pytest.importorskip("scipy")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    with open(os.path.join(ROOT, "docs/tutorials/first-solve.ipynb"), encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    names, count = {"display": print}, 0
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "first-solve.ipynb", "exec"), names)
            count += 1
    assert count >= 6 and names["result"].verified
    assert names["several"].verified and 0.4 < names["stopped"] < 10
    assert "H" in names or importlib.util.find_spec("jax") is None


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    A = ts.Matrix.gallery("laplace2d", 20)
    result = ts.solve(A, np.ones((400, 2)), solver="cg")
    axes = result.plot()
    assert len(axes.lines) == 4 and axes.get_xlabel() == "iteration"
    assert A.spy().images[0].get_array().shape == (400, 400)
    values = np.array([1.0, 0.1, float(np.float32(0.1)), 1e300, 0.0])
    from tessera_sparse._plot import lowest_precision
    assert lowest_precision(values).tolist() == [2, 0, 1, 0, 2]
