# SPDX-License-Identifier: Apache-2.0
"""Ginkgo, which has no interface in C: ginkgo.cxx, beside this file, is one."""
import ctypes

import numpy as np

from base import MOST
from native import Native, pointer
from problems import SPD, SYMMETRIC, UNSYMMETRIC

HOW = """Ginkgo, into $PREFIX, and the functions of C around it:
  git clone https://github.com/ginkgo-project/ginkgo
  cmake -S ginkgo -B ginkgo-build -DCMAKE_BUILD_TYPE=Release -DGINKGO_BUILD_TESTS=OFF -DGINKGO_BUILD_EXAMPLES=OFF \\
      -DGINKGO_BUILD_BENCHMARKS=OFF -DCMAKE_CUDA_ARCHITECTURES=90 -DCMAKE_INSTALL_PREFIX=$PREFIX
  cmake --build ginkgo-build -j --target install
  g++ -std=c++17 -O2 -shared -fPIC -I $PREFIX/include bench/contest/ginkgo.cxx -o libginkgo_c.so \\
      -L $PREFIX/lib -Wl,-rpath,$PREFIX/lib -lginkgo      # contest.py --library ginkgo=$PWD/libginkgo_c.so
"""


class Ginkgo(Native):
    """By CUDA. Multigrid is parallel graph matching; `mixed` has its coarse levels in FP32."""

    MANY, ON_A_HOST = True, False
    FOR = {SPD: ("cg-jacobi", "cg-multigrid", "cg-multigrid-mixed", "cg-ic"),
           UNSYMMETRIC: ("bicgstab-jacobi", "bicgstab-ilu", "bicgstab-parilu", "gmres-jacobi", "cb-gmres"),
           SYMMETRIC: ("minres", "gmres")}
    SETTINGS = {name: {} for names in FOR.values() for name in names}

    def __init__(self, path, problem, setting, options):
        super().__init__(path, problem, setting, options)
        for name, kind in (("failure", ctypes.c_char_p), ("version", ctypes.c_char_p), ("open", ctypes.c_void_p)):
            getattr(self.handle, "ginkgo_" + name).restype = kind
        self.version = "Ginkgo " + self.handle.ginkgo_version().decode()
        m = problem.matrix
        self.arrays = [self.array(a) for a in (m.indptr, m.indices, m.data)]
        self.b = [self.array(np.ascontiguousarray(b)) for b in problem.columns()]
        self.x = [self.array(np.zeros(problem.n)) for _ in self.b]
        self.session = self.handle.ginkgo_open(int(self.on_gpu), ctypes.c_int64(problem.n), ctypes.c_int64(m.nnz),
                                               *map(pointer, self.arrays))
        self.check(0 if self.session else -1)
        self.session = ctypes.c_void_p(self.session)

    def check(self, code):
        if code != 0:
            raise RuntimeError("Ginkgo: " + self.handle.ginkgo_failure().decode())

    def setup(self):
        self.check(self.handle.ginkgo_setup(self.session, self.setting.encode(), ctypes.c_double(self.rtol),
                                            ctypes.c_int64(MOST)))

    def solve(self):
        found = []
        for b, x in zip(self.b, self.x):
            iterations, converged = ctypes.c_int64(), ctypes.c_int()
            x[:] = 0
            self.wait()
            self.check(self.handle.ginkgo_solve(self.session, pointer(b), pointer(x), ctypes.byref(iterations),
                                                ctypes.byref(converged)))
            found.append((iterations.value, bool(converged.value)))
        self.iterations, self.claimed = max(one for one, _ in found), all(one for _, one in found)

    def answer(self):
        columns = [x.get() if hasattr(x, "get") else x for x in self.x]
        return columns[0] if self.problem.b.ndim == 1 else np.stack(columns, axis=1)
