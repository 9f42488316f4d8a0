#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scipy 1.17.1 (numpy 2.4.6), PyPI.
# One would guess: mmwrite writes at least as many digits of a longdouble matrix as of a float64 one.
# What happens: 6 digits after the point, fixed. Entries below 5e-7 become 0.000000, and the file says `real` as if
# nothing was lost. float64 keeps every bit.
# Seen on 2026-11-28.
. "$(dirname "$0")/common.sh"
from_pypi numpy==2.4.6 scipy==1.17.1
v/bin/python - >seen <<'END'
import numpy as np
import scipy.io
import scipy.sparse as sparse

for kind in (np.float64, np.longdouble):
    scipy.io.mmwrite("A.mtx", sparse.csr_array(np.array([[1 / 3, 1e-9], [0, 1]], kind)))
    print(np.dtype(kind).name, "|".join(open("A.mtx").read().split("\n")[3:6]))
END
sed -i 's/^float128/longdouble/' seen
same seen <<'END'
float64 1 1 3.333333333333333E-1|1 2 1E-9|2 2 1
longdouble 1 1 0.333333|1 2 0.000000|2 2 1.000000
END
