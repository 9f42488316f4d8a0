#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scipy 1.17.1 (numpy 2.4.6), PyPI.
# One would guess: tfqmr with Jacobi ends with info 0 and about the residual that cg with Jacobi has.
# What happens: info 0, and an x that does not solve the system, once the diagonal is not constant. The residual grows
# with the spread of the diagonal. With a diagonal of one size, or without a preconditioner, x is right.
# Seen on 2026-11-28: D A D, A tridiagonal (-1, 2.1, -1), 50 rows, every other entry of D is s, b = 1, rtol 1e-8.
. "$(dirname "$0")/common.sh"
from_pypi numpy==2.4.6 scipy==1.17.1
v/bin/python - >seen <<'END'
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

n = 50
A = sparse.diags_array([-np.ones(n - 1), 2.1 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
b = np.ones(n)
for s in (1, 2, 10, 100):
    D = sparse.diags_array(np.where(np.arange(n) % 2, 1.0, s))
    S = (D @ A @ D).tocsr()
    for method in (linalg.cg, linalg.tfqmr):
        x, info = method(S, b, M=sparse.diags_array(1 / S.diagonal()), rtol=1e-8, maxiter=1000)
        residual = np.linalg.norm(b - S @ x) / np.linalg.norm(b)
        print(f"s {s}: {method.__name__} info {info}, " +
              ("residual below 1e-8" if residual < 1e-8 else f"residual {residual:.2g}"))
END
same seen <<'END'
s 1: cg info 0, residual below 1e-8
s 1: tfqmr info 0, residual below 1e-8
s 2: cg info 0, residual below 1e-8
s 2: tfqmr info 0, residual 32
s 10: cg info 0, residual below 1e-8
s 10: tfqmr info 0, residual 6.9e+02
s 100: cg info 0, residual below 1e-8
s 100: tfqmr info 0, residual 6.3e+04
END
