#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scipy 1.17.1 (numpy 2.4.6), PyPI.
# One would guess: the columns that hb_write makes are as wide as the Fortran format in the file's head says, which is
# what a Harwell-Boeing file is read by.
# What happens: the head says 3E25.16, and the numbers stand in columns of 24. Read by the format, the second number
# takes the sign of the third, which turns positive. SciPy's own hb_read splits at blanks.
# Seen on 2026-11-30: four values, the second negative.
. "$(dirname "$0")/common.sh"
from_pypi numpy==2.4.6 scipy==1.17.1
v/bin/python -W ignore - >seen <<'END'
import numpy as np, re, scipy.io, scipy.sparse as sparse
scipy.io.hb_write("A.rua", sparse.csc_array(np.array([[4.0, -1.0], [2.0, -3.0]])))
lines = open("A.rua").read().splitlines()
form = re.findall(r"\((.*?)\)", lines[3])[2]
width = int(re.search(r"E(\d+)", form)[1])
print("format", form)
print("by the format:", [lines[6][k:k + width].strip() for k in range(0, 3 * width, width)])
print("at blanks:    ", lines[6].split())
END
same seen <<'END'
format 3E25.16
by the format: ['4.0000000000000000E+00', '2.0000000000000000E+00 -', '1.0000000000000000E+00']
at blanks:     ['4.0000000000000000E+00', '2.0000000000000000E+00', '-1.0000000000000000E+00']
END
