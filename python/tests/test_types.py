# SPDX-License-Identifier: Apache-2.0
"""The types of __init__.pyi: they agree with the package, and mypy accepts right programs and refuses wrong ones."""
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = os.path.join(os.path.dirname(HERE), "pyproject.toml")
RIGHT = """\
import numpy as np
import tessera_sparse as ts
matrix: ts.Matrix = ts.Matrix.gallery("laplace2d", 20)
x, info = ts.cg(matrix, np.ones(400), rtol=1e-8, M=ts.ilut(matrix, 1e-3, 10))
ended: int = info
result = ts.Solver(matrix, solver="cg", max_iterations=50).solve(np.ones(400))
good: bool = result.verified
text: str = result.why
try:
    ts.spsolve(matrix, np.ones(400))
except ts.ConvergenceError as error:
    print(error.result.reason_text, error.hint)
"""
WRONG = ["ts.cg(matrix, np.ones(400), 1e-8, 7)", "x = ts.cg(matrix, b).x", "ts.Context(threads='many')",
         "reason: int = ts.solve(matrix, b).reason_text", "ts.Matrix.load('A.mtx')", "ts.dgmres(matrix, b)"]


def mypy(*arguments, folder):
    pytest.importorskip("mypy")
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=folder)


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
