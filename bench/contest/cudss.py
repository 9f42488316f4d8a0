# SPDX-License-Identifier: Apache-2.0
"""cuDSS, called by ctypes: complete factors on the device. A symmetric matrix gives its upper triangle."""
import ctypes
import os

import numpy as np
from scipy import sparse

from native import Native, pointer
from problems import SPD, SYMMETRIC, UNSYMMETRIC

HOW = """cuDSS: pip install nvidia-cudss-cu13      # contest.py --library cudss=.../nvidia/cu13/lib/libcudss.so.1
"""
FP64, INT32 = 1, 10  # of cudaDataType_t
GENERAL, SYMMETRIC_TYPE, SPD_TYPE = 0, 1, 3
FULL, UPPER = 0, 2
ANALYSIS, FACTORIZATION, SOLVE = 3, 4, 1008
REORDERING, MATCHING, STEPS_OF_REFINEMENT = 0, 3, 5  # of cudssConfigParam_t
NO_MATCHING, NESTED_DISSECTION = 0, 4
INFO = 0  # of cudssDataParam_t


class Cudss(Native):
    """`default`; with two steps of refinement; and by nested dissection without a matching of its own choice."""

    SETTINGS = {"default": {}, "refined": {STEPS_OF_REFINEMENT: 2},
                "dissection": {REORDERING: NESTED_DISSECTION, MATCHING: NO_MATCHING, STEPS_OF_REFINEMENT: 2}}
    ON_A_HOST = False
    FOR = dict.fromkeys((SPD, SYMMETRIC, UNSYMMETRIC), tuple(SETTINGS))
    TYPES = {SPD: (SPD_TYPE, UPPER), SYMMETRIC: (SYMMETRIC_TYPE, UPPER), UNSYMMETRIC: (GENERAL, FULL)}

    def __init__(self, path, problem, setting, options):
        super().__init__(path, problem, setting, options)
        parts = [ctypes.c_int() for _ in range(3)]
        for k, part in enumerate(parts):
            self.call("cudssGetProperty", k, ctypes.byref(part))
        self.version = "cuDSS " + ".".join(str(part.value) for part in parts)
        self.cudss, self.a, self.b_, self.x_ = (ctypes.c_void_p() for _ in range(4))
        self.config = self.data = None
        self.call("cudssCreate", ctypes.byref(self.cudss))
        self.use_threads(path)
        self.make_matrix()

    def use_threads(self, path):
        """Its analysis, on the host, has several threads where the layer for them lies beside the library."""
        layer = os.path.join(os.path.dirname(path), "libcudss_mtlayer_gomp.so.1")
        if os.path.exists(layer):
            self.call("cudssSetThreadingLayer", self.cudss, layer.encode())

    def make_matrix(self):
        kind, part = self.TYPES[self.problem.kind]
        m = self.problem.matrix if part == FULL else sparse.csr_matrix(sparse.triu(self.problem.matrix))
        m.sort_indices()
        n, size = self.problem.n, ctypes.c_int64
        self.arrays = [self.array(a) for a in (m.indptr.astype(np.int32), m.indices.astype(np.int32), m.data)]
        rows, columns, values = map(pointer, self.arrays)
        self.call("cudssMatrixCreateCsr", ctypes.byref(self.a), size(n), size(n), size(m.nnz), rows, None, columns,
                  values, INT32, INT32, FP64, kind, part, 0)
        self.b, self.x = self.array(self.problem.b), self.array(np.zeros(n))
        for handle, vector in ((self.b_, self.b), (self.x_, self.x)):
            self.call("cudssMatrixCreateDn", ctypes.byref(handle), size(n), size(1), size(n), pointer(vector), FP64, 0)

    def run(self, phase):
        self.call("cudssExecute", self.cudss, phase, self.config, self.data, self.a, self.x_, self.b_)

    def setup(self):
        if self.data:
            self.call("cudssDataDestroy", self.cudss, self.data)
            self.call("cudssConfigDestroy", self.config)
        self.config, self.data = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cudssConfigCreate", ctypes.byref(self.config))
        self.call("cudssDataCreate", self.cudss, ctypes.byref(self.data))
        for key, value in self.SETTINGS[self.setting].items():
            self.call("cudssConfigSet", self.config, key, ctypes.byref(ctypes.c_int(value)), ctypes.c_size_t(4))
        self.run(ANALYSIS)
        self.run(FACTORIZATION)

    def solve(self):
        self.run(SOLVE)
        info, written = ctypes.c_int(), ctypes.c_size_t()
        self.wait()
        self.call("cudssDataGet", self.cudss, self.data, INFO, ctypes.byref(info), ctypes.c_size_t(4),
                  ctypes.byref(written))
        if info.value != 0:
            raise RuntimeError(f"cuDSS says {info.value} of the factors")

    def answer(self):
        return self.x.get()
