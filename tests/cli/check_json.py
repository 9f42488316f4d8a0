# SPDX-License-Identifier: Apache-2.0
"""Reads pairs of lines, a file and an expression, and answers each with a line: `true` when the file is strict JSON and
the expression over j, its object, is true; otherwise why not."""
import json
import math
import sys

NAMES = {"math": math, "len": len, "abs": abs, "all": all, "set": set}


def refuse(constant):
    raise ValueError("not JSON: " + constant)


def judge(file, expression):
    try:
        with open(file, encoding="utf-8") as stream:
            j = json.load(stream, parse_constant=refuse)
        return "true" if eval(expression, {"j": j, **NAMES}) else "false for " + str(j)[:300]
    except Exception as error:  # whatever is wrong with the file or the expression is the answer
        return f"{type(error).__name__}: {error}".replace("\n", " ")


for line in sys.stdin:
    print(judge(line.rstrip("\n"), next(sys.stdin).rstrip("\n")), flush=True)
