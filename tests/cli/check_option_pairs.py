#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each option with each method or preconditioner that it is not for: check_option_pairs.py TOOL.

The pairs come from the table of options (tessera --reference). The tool refuses each with exit code 2 and the words of
tess_options_check, before it looks at the matrix, which is not there. A line for each pair where it does not.
"""
import os
import re
import subprocess
import sys

VALUES = {"steps": "fp32", "precond-steps": "fp32", "precond-policy": "mean-range", "precond-levels": "fp64,fp16",
          "inner-precision": "fp32", "basis-precision": "fp32", "precond-precision": "fp64", "share": "50",
          "precond-share": "50", "factor-memory": "500M", "choices": "choices.txt", "precision": "fp64",
          "tcki-thresholds": "0.1,0.2,0.9", "narrowing-epsilon": "0.5", "omega": "0.5", "precond-omega": "0.5",
          "amg-strength": "0.5", "amg-degree": "3", "amg-aggressive": "1", "amg-block-size": "2", "restart": "7",
          "switch-at": "7", "leaf": "7", "inner-reduction": "0.5", "inverse-threshold": "0.5",
          "inverse-filter": "0.5", "inverse-tolerance": "0.5"}
FIXED = {"--kernel paper": [], "--narrowing paper or safe": []}  # needs of another option, not of a method


def cell_words(cell):
    return re.findall(r"`([^`]*)`", cell)


def read_table(page):
    """(option, its default, other values, need) of each option of the tool; names of solvers and preconditioners."""
    options, names = [], {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 6 or not cells[0].startswith("`--"):
            continue
        name, default, need = cells[0].strip("`-"), cells[2].strip("`"), cells[3].strip("`")
        words = [word for word in cell_words(cells[1]) if re.fullmatch(r"[a-z0-9-]+", word)]
        if name in ("solver", "precond"):
            names[name] = words
        options.append((name, VALUES.get(name) or next((w for w in words if w != default), "7"), need))
    return options, names


def misfits(need, names):
    """Command lines that do not meet the need."""
    kind, _, listed = need.removeprefix("--").partition(" ")
    if need in FIXED:
        return [[]]
    listed = listed.replace(":K", "")
    fitting = re.split(r", | or ", listed) if listed else [n for n in names[kind] if n not in ("none", "auto")]
    if kind == "solver":
        # auto may take a method that reads the option
        may_choose = ["auto"] if fitting == ["cg", "bicgstab"] else []
        return [["--solver", name] for name in names[kind] if name not in fitting + may_choose]
    return [["--solver", "gmres", "--precond", name] for name in names[kind] if name not in fitting]


def is_refused(tool, name, value, need, method):
    """None, or what is wrong."""
    command = [tool, "solve", "no-such-matrix.mtx", *method, f"--{name}", value]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                            env={**os.environ, "OMP_NUM_THREADS": "1"})
    verb = "needs" if need in FIXED or need == "--precond" else "is for"
    said = result.stderr.partition("\n")[0]
    right = result.returncode == 2 and said == f"tessera solve: --{name} {verb} {need}"
    return None if right else f"{' '.join(command[1:])}: {result.returncode}, {said}"


def main():
    tool = sys.argv[1]
    options, names = read_table(subprocess.run([tool, "--reference"], capture_output=True, text=True).stdout)
    pairs = [(name, value, need, method) for name, value, need in options if need for method in misfits(need, names)]
    step = 7 if os.environ.get("TESSERA_SANITIZED") == "1" else 1  # a start takes five times as long there
    wrong = [text for text in (is_refused(tool, *pair) for pair in pairs[::step]) if text]
    if len(pairs) < 300:
        wrong.append(f"only {len(pairs)} pairs")
    print(*wrong, sep="\n")
    return bool(wrong)


sys.exit(main())
