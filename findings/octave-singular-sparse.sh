#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# octave 7.3.0-2, Debian 12.
# One would guess: A \ b of a singular matrix warns, and gives the same x for sparse(A) as for A; or Inf for sparse(A).
# What happens: both warn in the same words. The dense x is the least-squares solution of the smallest norm. The sparse
# x is another least-squares solution, with a zero in it.
# And pcg with a tolerance of 0 does no iteration: it returns x = 0 with flag 4, "not positive definite", for a matrix
# that pcg solves with a tolerance of 1e-12.
# Seen on 2026-11-28.
. "$(dirname "$0")/common.sh"
from_debian octave 7.3.0-2
cat >singular.m <<'END'
warning("off", "all");
A = [1 1; 1 1]; b = [1; 2];
printf("dense %.4f %.4f\n", A \ b);
printf("sparse %.4f %.4f\n", sparse(A) \ b);
n = 50; L = spdiags([-ones(n, 1) 2.1 * ones(n, 1) -ones(n, 1)], -1:1, n, n); b = ones(n, 1);
for tolerance = [1e-12 0]
  [x, flag, relative, iterations] = pcg(L, b, tolerance, 500);
  printf("pcg %g: flag %d, solved %d, x = 0 %d\n", tolerance, flag, norm(b - L * x) < 1e-11 * norm(b), ! any(x));
end
fflush(stdout);
END
octave --no-gui -q --no-window-system singular.m 2>/dev/null >seen || true
same seen <<'END'
dense 0.7500 0.7500
sparse 1.5000 0.0000
pcg 1e-12: flag 0, solved 1, x = 0 0
pcg 0: flag 4, solved 0, x = 0 1
END
