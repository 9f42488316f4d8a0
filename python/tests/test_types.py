# SPDX-License-Identifier: Apache-2.0
"""The types of __init__.pyi: they agree with the package, and mypy accepts right programs and refuses wrong ones."""
import importlib.util
import os
import re
import subprocess
import sys

import pytest

import tessera_sparse as ts
from tessera_sparse import _option_types
from tessera_sparse._multigrid import ARRAYS
from tessera_sparse._options import option_table

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CONFIG = os.path.join(os.path.dirname(HERE), "pyproject.toml")
RIGHT = """\
import numpy as np
import tessera_sparse as ts
matrix: ts.Matrix = ts.Matrix.gallery("laplace2d", 20)
x, info = ts.cg(matrix, np.ones(400), rtol=1e-8, M=ts.ilut(matrix, 1e-3, 10))
ended: int = info
result = ts.Solver(matrix, solver="cg", max_iterations=50).solve(np.ones(400))
options: ts.Options = {"solver": "idr:8", "precond": "ic0", "max_iterations": 50, "amg_precision": ["fp32", "fp16"]}
good: bool = ts.solve(matrix, np.ones(400), **options).verified
ts.solve(matrix, np.ones(400), solver="gmres", gmres_restart=30, accuracy="backward:1e-12", rtol=0)
ts.Solver(matrix, precond=ts.amg(matrix, amg_cycle="w"), format="sell", block="16x32").set_limits(rtol=1e-3)
text: str = result.why
try:
    ts.spsolve(matrix, np.ones(400))
except ts.ConvergenceError as error:
    print(error.result.reason_text, error.hint)
"""
WRONG = ["ts.cg(matrix, np.ones(400), 1e-8, 7)", "x = ts.cg(matrix, b).x", "ts.Context(threads='many')",
         "reason: int = ts.solve(matrix, b).reason_text", "ts.Matrix.load('A.mtx')", "ts.dgmres(matrix, b)",
         "ts.solve(matrix, b, maxiter=3)", "ts.solve(matrix, b, max_iterations='3')", "ts.Solver(matrix, solver='cq')",
         "ts.Solver(matrix, rtol='1e-8')", "ts.amg(matrix, amg_cycle='x')", "ts.ilu0(matrix, rtol=1e-8)",
         "ts.spsolve(matrix, b, guard='off')", "ts.Solver(matrix).set_limits(restart=3)",
         "ts.solve(matrix, b, block='8x8')", "wrong: ts.Options = {'restart': '30'}"]


def mypy(*arguments, folder):
    pytest.importorskip("mypy")
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=folder)


def generated():
    """python/generate_types.py, which runs in a repository alone."""
    spec = importlib.util.spec_from_file_location("generate_types", os.path.join(ROOT, "python/generate_types.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_types_of_options_are_those_of_the_tables():
    with open(_option_types.__file__, encoding="utf-8") as file:
        assert file.read() == generated().text(), "python3 python/generate_types.py writes the types anew"
    every = {*option_table(), *ARRAYS, "monitor", "context", "last_iterate", "precond", "progress"}
    assert set(ts.Options.__annotations__) == every >= set(ts.option_names())


def test_each_word_of_the_page_of_options_has_a_type():
    with open(os.path.join(ROOT, "docs/python/options.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (`.*?) \|", file.read(), re.M)
    words = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert len(words) >= 25 and words <= set(ts.Options.__annotations__)


def test_defaults_on_the_page_of_options_are_those_of_the_list():
    with open(os.path.join(ROOT, "docs/python/options.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (`.*?) \| (.*?) \|", file.read(), re.M)
    pairs = [pair for names, defaults in rows for pair in zip(re.findall(r"`(\w+)`", names), defaults.split(", "))
             if names.count("`") // 2 == defaults.count(", ") + 1 and pair[0] in option_table()]
    told = {name: default.strip('`"') for name, default in pairs if re.fullmatch(r'[\w.`"-]+', default)}
    wrong = {name: default for name, default in told.items()
             if default.replace("1e-5", "1e-05") != (option_table()[name].standard or "none")}
    assert len(told) >= 10 and not wrong, wrong


def test_types_agree_with_the_package(tmp_path):
    done = mypy("mypy.stubtest", "tessera_sparse", "--ignore-missing-stub", "--concise", "--mypy-config-file", CONFIG,
                "--allowlist", os.path.join(HERE, "stubtest_allowlist.txt"), "--ignore-unused-allowlist",
                folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    head = "import numpy as np\nimport tessera_sparse as ts\nmatrix = ts.Matrix([[1.0]])\nb = np.ones(1)\n"
    (tmp_path / "wrong.py").write_text(head + "\n".join(WRONG) + "\n", encoding="utf-8")
    done = mypy("mypy", "--strict", "right.py", "wrong.py", folder=tmp_path)
    found = {line.split(": ")[0] for line in done.stdout.splitlines() if ": error:" in line}
    assert found == {f"wrong.py:{5 + k}" for k in range(len(WRONG))}, done.stdout + done.stderr
