# SPDX-License-Identifier: Apache-2.0
"""Contestants whose library is in C, called by ctypes: hypre and AmgX, built for one process without MPI."""
import ctypes

import numpy as np

from problems import SPD, SYMMETRIC, UNSYMMETRIC

MOST = 2000
HOW = """hypre, into $PREFIX (no MPI; device memory from CUDA's pools):
  git clone https://github.com/hypre-space/hypre && cd hypre/src
  ./configure --without-MPI --with-cuda --with-gpu-arch=90 --enable-shared --enable-device-malloc-async \\
      --without-umpire --disable-fortran --prefix=$PREFIX && make -j install
  contest.py --library hypre=$PREFIX/lib/libHYPRE.so
AmgX:
  git clone --recursive https://github.com/NVIDIA/AMGX && cmake -S AMGX -B amgx -DCMAKE_NO_MPI=ON -DCUDA_ARCH=90
  cmake --build amgx -j --target amgxsh      # contest.py --library amgx=amgx/libamgxsh.so
"""


def call(library, name, *arguments):
    """A function that returns 0 where all is well."""
    code = getattr(library, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name} returned {code}")


def pointer(array):
    return ctypes.c_void_p(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


class Native:
    """As libraries.Solver, for arrays that lie on the device."""

    iterations, claimed, choice = 0, False, None

    def __init__(self, path, problem, setting, options):
        self.handle, self.problem, self.setting, self.rtol = ctypes.CDLL(path), problem, setting, options.rtol
        self.on_gpu = options.device == "cuda"
        self.array = np.asarray
        if self.on_gpu:
            import cupy
            self.array = cupy.asarray

    def call(self, name, *arguments):
        call(self.handle, name, *arguments)

    def wait(self):
        if self.on_gpu:
            import cupy
            cupy.cuda.Device().synchronize()


# ---- hypre ----

class Hypre(Native):
    """ParCSR solvers; the choices are those that hypre's manual names for GPUs."""

    PARCSR = 5555
    # BoomerAMG: PMIS, extended+i with 4 entries a row; smoothers l1-Jacobi (18) and Chebyshev (16)
    AMG = {"MaxIter": 1, "CoarsenType": 8, "InterpType": 6, "PMaxElmts": 4, "RelaxType": 18}
    SETTINGS = {
        "cg-amg": ("PCG", "amg", {}), "cg-amg-chebyshev": ("PCG", "amg", {"RelaxType": 16}),
        "cg-amg-aggressive": ("PCG", "amg", {"RelaxType": 16, "AggNumLevels": 1, "AggInterpType": 7}),
        "cg-fsai": ("PCG", "fsai", {}), "cg-jacobi": ("PCG", "jacobi", {}),
        "bicgstab-amg": ("BiCGSTAB", "amg", {}), "gmres-amg": ("GMRES", "amg", {}),
        "gmres-air": ("GMRES", "amg", {"Restriction": 1, "InterpType": 100, "RelaxType": 0}),
        "gmres-ilu": ("GMRES", "ilu", {}),
    }
    FOR = {SPD: ("cg-amg", "cg-amg-chebyshev", "cg-amg-aggressive", "cg-fsai", "cg-jacobi"),
           UNSYMMETRIC: ("bicgstab-amg", "gmres-amg", "gmres-air", "gmres-ilu"),
           SYMMETRIC: ("gmres-amg", "gmres-ilu")}

    def __init__(self, path, problem, setting, options):
        super().__init__(path, problem, setting, options)
        self.call("HYPRE_Initialize")
        parts = [ctypes.c_int() for _ in range(3)]
        self.call("HYPRE_VersionNumber", *map(ctypes.byref, parts), None)
        self.version = "hypre " + ".".join(str(part.value) for part in parts)
        if self.on_gpu:
            self.call("HYPRE_SetMemoryLocation", 1)
            self.call("HYPRE_SetExecutionPolicy", 1)
        n, matrix = problem.n, problem.matrix
        self.rows = self.array(np.arange(n, dtype=np.int32))
        self.matrix, self.a = ctypes.c_void_p(), ctypes.c_void_p()
        lengths, columns, values = map(self.array, (np.diff(matrix.indptr), matrix.indices, matrix.data))
        self.call("HYPRE_IJMatrixCreate", 0, 0, n - 1, 0, n - 1, ctypes.byref(self.matrix))
        self.call("HYPRE_IJMatrixSetObjectType", self.matrix, self.PARCSR)
        self.call("HYPRE_IJMatrixInitialize", self.matrix)
        self.call("HYPRE_IJMatrixSetValues", self.matrix, n, pointer(lengths), pointer(self.rows), pointer(columns),
                  pointer(values))
        self.call("HYPRE_IJMatrixAssemble", self.matrix)
        self.call("HYPRE_IJMatrixGetObject", self.matrix, ctypes.byref(self.a))
        self.b, self.x = self.vector(problem.b), self.vector(np.zeros(n))
        self.solver = self.inner = None

    def vector(self, values):
        """Its handle, and the ParCSR vector in it."""
        handle, inner, data = ctypes.c_void_p(), ctypes.c_void_p(), self.array(values)
        self.call("HYPRE_IJVectorCreate", 0, 0, self.problem.n - 1, ctypes.byref(handle))
        self.call("HYPRE_IJVectorSetObjectType", handle, self.PARCSR)
        self.call("HYPRE_IJVectorInitialize", handle)
        self.call("HYPRE_IJVectorSetValues", handle, self.problem.n, pointer(self.rows), pointer(data))
        self.call("HYPRE_IJVectorAssemble", handle)
        self.call("HYPRE_IJVectorGetObject", handle, ctypes.byref(inner))
        return handle, inner

    def make_inner(self, kind, choices):
        """The preconditioner, and its name in hypre."""
        inner, name = ctypes.c_void_p(), {"amg": "BoomerAMG", "fsai": "FSAI", "ilu": "ILU"}.get(kind)
        if name:
            self.call(f"HYPRE_{name}Create", ctypes.byref(inner))
            self.call(f"HYPRE_{name}SetMaxIter" + ("ations" if kind == "fsai" else ""), inner, 1)
        if kind == "amg":
            dimensions = 3 if "3d" in self.problem.name or self.problem.coordinates is not None else 2
            for key, value in dict(self.AMG, **choices).items():
                self.call(f"HYPRE_BoomerAMGSet{key}", inner, value)
            self.call("HYPRE_BoomerAMGSetStrongThreshold", inner, ctypes.c_double(0.5 if dimensions == 3 else 0.25))
            if self.problem.unknowns > 1:
                self.call("HYPRE_BoomerAMGSetNumFunctions", inner, self.problem.unknowns)
        if kind == "fsai":
            self.call("HYPRE_FSAISetAlgoType", inner, 3 if self.on_gpu else 1)
        if kind in ("amg", "ilu"):
            self.call(f"HYPRE_{name}SetTol", inner, ctypes.c_double(0.0))
        return inner, name

    def drop(self):
        if self.solver:
            self.call(f"HYPRE_ParCSR{self.method}Destroy", self.solver)
        if self.inner and self.inner[1]:
            self.call(f"HYPRE_{self.inner[1]}Destroy", self.inner[0])
        self.solver = self.inner = None

    def setup(self):
        self.drop()
        h, solver = self.handle, ctypes.c_void_p()
        self.method, kind, choices = self.SETTINGS[self.setting]
        self.call(f"HYPRE_ParCSR{self.method}Create", 0, ctypes.byref(solver))
        self.call(f"HYPRE_{self.method}SetTol", solver, ctypes.c_double(self.rtol))
        self.call(f"HYPRE_{self.method}SetMaxIter", solver, MOST)
        if self.method == "PCG":
            self.call("HYPRE_PCGSetTwoNorm", solver, 1)
        if self.method == "GMRES":
            self.call("HYPRE_GMRESSetKDim", solver, 50)
        self.inner = self.make_inner(kind, choices)
        name = self.inner[1] or "ParCSRDiagScale"
        setup = getattr(h, f"HYPRE_{name}Setup")
        apply = getattr(h, f"HYPRE_{name}Solve" if self.inner[1] else "HYPRE_ParCSRDiagScale")
        self.call(f"HYPRE_{self.method}SetPrecond", solver, apply, setup, self.inner[0])
        self.call(f"HYPRE_ParCSR{self.method}Setup", solver, self.a, self.b[1], self.x[1])
        self.solver = solver

    def solve(self):
        h, iterations = self.handle, ctypes.c_int()
        self.call("HYPRE_ParVectorSetConstantValues", self.x[1], ctypes.c_double(0.0))
        code = getattr(h, f"HYPRE_ParCSR{self.method}Solve")(self.solver, self.a, self.b[1], self.x[1])
        h.HYPRE_ClearAllErrors()  # no convergence is one
        self.call(f"HYPRE_{self.method}GetNumIterations", self.solver, ctypes.byref(iterations))
        self.iterations, self.claimed = iterations.value, code == 0 and iterations.value < MOST

    def answer(self):
        data = self.array(np.zeros(self.problem.n))
        self.call("HYPRE_IJVectorGetValues", self.x[0], self.problem.n, pointer(self.rows), pointer(data))
        return data.get() if hasattr(data, "get") else data


# ---- AmgX ----

class Amgx(Native):
    FP64_ON_DEVICE = 8193  # AMGX_mode_dDDI
    AMG = ("s:preconditioner(p)=AMG, p:cycle=V, p:presweeps=1, p:postsweeps=1, p:max_iters=1, p:min_coarse_rows=32, "
           "p:max_levels=50, p:coarse_solver=DENSE_LU_SOLVER, ")
    CLASSICAL = AMG + "p:algorithm=CLASSICAL, p:selector=PMIS, p:interpolator=D2, p:smoother=JACOBI_L1"
    AGGREGATION = AMG + ("p:algorithm=AGGREGATION, p:selector=SIZE_8, p:smoother=MULTICOLOR_DILU, "
                         "p:strength_threshold=0.25")
    SETTINGS = {
        "cg-classical": "solver(s)=PCG, " + CLASSICAL, "cg-aggregation": "solver(s)=PCG, " + AGGREGATION,
        "cg-jacobi": "solver(s)=PCG, s:preconditioner(p)=BLOCK_JACOBI, p:max_iters=1",
        "fgmres-aggregation": "solver(s)=FGMRES, s:gmres_n_restart=50, " + AGGREGATION,
        "bicgstab-dilu": "solver(s)=PBICGSTAB, s:preconditioner(p)=MULTICOLOR_DILU, p:max_iters=1",
    }
    FOR = {SPD: ("cg-classical", "cg-aggregation", "cg-jacobi"), UNSYMMETRIC: ("fgmres-aggregation", "bicgstab-dilu"),
           SYMMETRIC: ("fgmres-aggregation",)}

    def __init__(self, path, problem, setting, options):
        super().__init__(path, problem, setting, options)
        self.call("AMGX_initialize")
        words = [ctypes.c_char_p() for _ in range(3)]  # version, date and time of the build
        self.call("AMGX_get_build_info_strings", *map(ctypes.byref, words))
        self.version = "AmgX " + words[0].value.decode()
        self.config, self.resources, self.a, self.b, self.x = (ctypes.c_void_p() for _ in range(5))
        text = (f"config_version=2, {self.SETTINGS[setting]}, s:tolerance={self.rtol}, s:convergence=RELATIVE_INI, "
                f"s:norm=L2, s:max_iters={MOST}, s:monitor_residual=1, s:print_solve_stats=0")
        self.call("AMGX_config_create", ctypes.byref(self.config), text.encode())
        self.call("AMGX_resources_create_simple", ctypes.byref(self.resources), self.config)
        for name, place in (("matrix", self.a), ("vector", self.b), ("vector", self.x)):
            self.call(f"AMGX_{name}_create", ctypes.byref(place), self.resources, self.FP64_ON_DEVICE)
        m = problem.matrix
        self.call("AMGX_matrix_upload_all", self.a, problem.n, m.nnz, 1, 1, pointer(m.indptr), pointer(m.indices),
                  pointer(m.data), None)
        self.call("AMGX_vector_upload", self.b, problem.n, 1, pointer(problem.b))
        self.call("AMGX_vector_set_zero", self.x, problem.n, 1)
        self.solver = None

    def setup(self):
        if self.solver:
            self.call("AMGX_solver_destroy", self.solver)
        self.solver = ctypes.c_void_p()
        self.call("AMGX_solver_create", ctypes.byref(self.solver), self.resources, self.FP64_ON_DEVICE, self.config)
        self.call("AMGX_solver_setup", self.solver, self.a)

    def solve(self):
        iterations, status = ctypes.c_int(), ctypes.c_int()
        self.call("AMGX_solver_solve_with_0_initial_guess", self.solver, self.b, self.x)
        self.call("AMGX_solver_get_iterations_number", self.solver, ctypes.byref(iterations))
        self.call("AMGX_solver_get_status", self.solver, ctypes.byref(status))
        self.iterations, self.claimed = iterations.value, status.value == 0

    def answer(self):
        x = np.empty(self.problem.n)
        self.call("AMGX_vector_download", self.x, pointer(x))
        return x


LIBRARIES = {"hypre": Hypre, "amgx": Amgx}
