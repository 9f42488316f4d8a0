#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scipy 1.17.1 (numpy 2.4.6), PyPI.
# One would guess: a right-hand side of 1e170, whose square overflows, makes every Krylov method fail alike, or warn.
# What happens: gmres calls x = 0 solved (info 0), minres calls NaN solved (info 0), lgmres and gcrotmk do solve it,
# tfqmr and cg give NaN with info = maxiter, and qmr a breakdown.
# Seen on 2026-11-28: tridiagonal (-1, 2.1, -1), 50 rows, b = 1e170 A 1, rtol 1e-8. The norms below are scaled first.
. "$(dirname "$0")/common.sh"
from_pypi numpy==2.4.6 scipy==1.17.1
v/bin/python -W ignore - >seen <<'END'
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

n = 50
A = sparse.diags_array([-np.ones(n - 1), 2.1 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
b = A @ np.ones(n)
for name in "gmres minres lgmres gcrotmk cg tfqmr qmr".split():
    x, info = getattr(linalg, name)(A, 1e170 * b, rtol=1e-8, maxiter=500)
    residual = np.linalg.norm(b - A @ (x / 1e170)) / np.linalg.norm(b)
    print(name, "info", info, "x = 0" if not x.any() else "x is NaN" if np.isnan(x).any() else
          "solved" if residual <= 1e-8 else f"residual {residual:.1g}")
END
same seen <<'END'
gmres info 0 x = 0
minres info 0 x is NaN
lgmres info 0 solved
gcrotmk info 0 solved
cg info 500 x is NaN
tfqmr info 500 x is NaN
qmr info -13 x = 0
END
