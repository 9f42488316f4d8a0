#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what --device auto of tessera solve chooses where there is a GPU: check_device.py TOOL.

TOOL is that of a build with an emulated GPU. One line per failing check, then "N passed, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile

from checks import check, finish

HIDES = {"TESS_EMULATOR_VISIBLE": ""}


def solve(tool, matrix, *options, **environment):
    """(report, JSON) of a solve that may end after its iterations."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "solve.json")
        command = [tool, "solve", matrix, "--choices", "none", *options]
        result = subprocess.run([*command, "--json", path], capture_output=True, text=True, timeout=300,
                                env={**os.environ, **environment})
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    check(result.returncode in (0, 1), f"{command}: exit {result.returncode}: {result.stderr}")
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    return next((line for line in shown.stdout.splitlines() if line.startswith("device ")), ""), found


def write_tridiagonal(path, n):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {2 * n - 1}\n")
        file.writelines(f"{i} {i} 4\n" + (f"{i + 1} {i} -1\n" if i < n else "") for i in range(1, n + 1))


def check_host(tool, folder):
    small = os.path.join(folder, "small.mtx")
    write_tridiagonal(small, 50)
    for matrix, nonzeros in (("gallery:laplace2d:12", 672), (small, 148), ("gallery:unstructured2d:2000", 0)):
        line, found = solve(tool, matrix)
        check(found["device"] == "cpu" and found["converged"], f"{matrix}: on {found['device']}")
        check("before a GPU has started" in (found["device_why"] or ""), f"{matrix}: {found['device_why']}")
        check(found["by_hand"].endswith("--device cpu"), f"{matrix}: {found['by_hand']}")
        check("; chosen, since" in line and line.endswith(": --device emulated takes the GPU"), f"{matrix}: {line}")
        check(not nonzeros or f"since {nonzeros} nonzeros should" in line, f"{matrix}: {line}")


def check_gpu(tool):
    one = ("--solver", "cg", "--precond", "none", "--max-iterations", "1")
    line, found = solve(tool, "gallery:laplace2d:300", *one)  # the host makes it, and it moves
    check(found["device"] == "emulated" and "with its start" in (found["device_why"] or ""), f"on {found['device']}")
    check("; chosen, since" in line and "takes the GPU" not in line, line)


def check_no_choice(tool):
    matrix, one = "gallery:laplace2d:12", ("--solver", "cg", "--precond", "none")
    for options, environment, device in ((("--device", "cpu"), {}, "cpu"), (("--engine", "graph"), {}, "emulated"),
                                         ((), HIDES, "emulated")):
        line, found = solve(tool, matrix, *one, *options, **environment)
        check(found["device"] == device and found["device_why"] is None, f"{options}: {found['device_why']}")
        check(line and "chosen" not in line, f"{options}: {line}")


def main():
    tool = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check_host(tool, folder)
    check_gpu(tool)
    check_no_choice(tool)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
