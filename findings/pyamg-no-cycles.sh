#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pyamg 5.4.1 (scipy 1.17.1, numpy 2.4.6), PyPI.
# One would guess: solve(maxiter=0) of a multigrid hierarchy returns the initial guess, or refuses.
# What happens: it runs as if maxiter was not given, to convergence, and returns info 0. With accel="cg" the same call
# is a ValueError; maxiter=1 runs one cycle and returns info 1.
# Seen on 2026-11-28: Poisson, 20 x 20, b = 1.
. "$(dirname "$0")/common.sh"
from_pypi numpy==2.4.6 scipy==1.17.1 pyamg==5.4.1
v/bin/python -W ignore - >seen <<'END'
import numpy as np
import pyamg

A = pyamg.gallery.poisson((20, 20), format="csr")
b = np.ones(400)
levels = pyamg.smoothed_aggregation_solver(A)
for options in ({"maxiter": 1}, {"maxiter": 0}, {"maxiter": 0, "accel": "cg"}):
    residuals = []
    try:
        x, info = levels.solve(b, tol=1e-8, return_info=True, residuals=residuals, **options)
        small = np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
        print(options, "info", info, "converged" if small else f"{len(residuals) - 1} cycle")
    except ValueError:
        print(options, "ValueError")
END
same seen <<'END'
{'maxiter': 1} info 1 1 cycle
{'maxiter': 0} info 0 converged
{'maxiter': 0, 'accel': 'cg'} ValueError
END
