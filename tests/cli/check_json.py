# SPDX-License-Identifier: Apache-2.0
"""check_json.py FILE EXPRESSION: the file is strict JSON and the expression over j, its object, is true."""
import json
import math
import sys


def refuse(constant):
    raise ValueError("not JSON: " + constant)


with open(sys.argv[1], encoding="utf-8") as stream:
    j = json.load(stream, parse_constant=refuse)
if not eval(sys.argv[2], {"j": j, "math": math, "len": len, "abs": abs, "all": all, "set": set}):
    sys.exit("false for " + str(j)[:300])
