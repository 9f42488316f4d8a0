#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scipy 1.17.1 (numpy 2.4.6), PyPI.
# One would guess: a guess x0 that solves the system exactly comes back with info 0, whatever the tolerance.
# What happens, with rtol = 0: three kinds of answers. lgmres, minres, tfqmr and gcrotmk return x0 and 0. bicg,
# bicgstab, cgs and qmr return x0 and -10, a breakdown. cg and gmres run to maxiter and replace x0 by NaN.
# Seen on 2026-11-28: tridiagonal (-1, 2, -1), 50 rows, x0 = 1, b = A x0 exactly.
. "$(dirname "$0")/common.sh"
from_pypi numpy==2.4.6 scipy==1.17.1
v/bin/python -W ignore - >seen <<'END'
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

n = 50
A = sparse.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
for name in "lgmres minres tfqmr gcrotmk bicg bicgstab cgs qmr cg gmres".split():
    x, info = getattr(linalg, name)(A, A @ np.ones(n), x0=np.ones(n), rtol=0, maxiter=60)
    print(name, "info", info, "x0 kept" if (x == 1).all() else "x is NaN" if np.isnan(x).all() else x)
END
same seen <<'END'
lgmres info 0 x0 kept
minres info 0 x0 kept
tfqmr info 0 x0 kept
gcrotmk info 0 x0 kept
bicg info -10 x0 kept
bicgstab info -10 x0 kept
cgs info -10 x0 kept
qmr info -10 x0 kept
cg info 60 x is NaN
gmres info 60 x is NaN
END
