# SPDX-License-Identifier: Apache-2.0
"""Contestants whose library is in C, called by ctypes: hypre, AmgX and AMGCL, built for one process without MPI."""
import ctypes

import numpy as np

from base import MOST, Solver
from problems import SPD, SYMMETRIC, UNSYMMETRIC, rigid_body_modes

HOW = """hypre, into $PREFIX (no MPI; device memory from CUDA's pools):
  git clone https://github.com/hypre-space/hypre && cd hypre/src
  ./configure --without-MPI --with-cuda --with-gpu-arch=90 --enable-shared --enable-device-malloc-async \\
      --without-umpire --disable-fortran --prefix=$PREFIX && make -j install
  contest.py --library hypre=$PREFIX/lib/libHYPRE.so
hypre for a host:
  cmake -S hypre/src -B hypre-host -DCMAKE_BUILD_TYPE=Release -DHYPRE_ENABLE_MPI=OFF -DHYPRE_ENABLE_OPENMP=ON \\
      -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX=$PREFIX && cmake --build hypre-host -j --target install
AmgX:
  git clone --recursive https://github.com/NVIDIA/AMGX && cmake -S AMGX -B amgx -DCMAKE_NO_MPI=ON -DCUDA_ARCH=90
  cmake --build amgx -j --target amgxsh      # contest.py --library amgx=amgx/libamgxsh.so
AMGCL (Debian: libboost-dev):
  git clone https://github.com/ddemidov/amgcl
  g++ -O3 -march=native -DNDEBUG -fopenmp -shared -fPIC -I amgcl amgcl/lib/amgcl.cpp -o libamgcl.so
  contest.py --library amgcl=$PWD/libamgcl.so
"""


def call(library, name, *arguments):
    """A function that returns 0 where all is well."""
    code = getattr(library, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name} returned {code}")


def pointer(array):
    return ctypes.c_void_p(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


class Native(Solver):
    """A library by ctypes, for arrays that lie on the device; without one, on the host."""

    MANY, ON_A_HOST, ON_A_GPU = False, True, True

    def __init__(self, path, problem, setting, options):
        super().__init__(problem, setting, options)
        self.handle, self.array = ctypes.CDLL(path), np.asarray
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
    """ParCSR solvers; on a GPU the choices are those that hypre's manual names for it, on a host hypre's defaults."""

    PARCSR = 5555
    # BoomerAMG: PMIS, extended+i with 4 entries a row; smoothers l1-Jacobi (18) and Chebyshev (16).
    # hypre's defaults: HMIS, and l1-Gauss-Seidel, forward before and backward after.
    AMG_ON_GPU = {"CoarsenType": 8, "InterpType": 6, "PMaxElmts": 4, "RelaxType": 18}
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
        n, matrix = problem.n, problem.with_diagonal()
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
            for key, value in dict(self.AMG_ON_GPU if self.on_gpu else {}, **choices).items():
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
        h, iterations, residual = self.handle, ctypes.c_int(), ctypes.c_double()
        self.call("HYPRE_ParVectorSetConstantValues", self.x[1], ctypes.c_double(0.0))
        code = getattr(h, f"HYPRE_ParCSR{self.method}Solve")(self.solver, self.a, self.b[1], self.x[1])
        h.HYPRE_ClearAllErrors()  # no convergence is one
        self.call(f"HYPRE_{self.method}GetNumIterations", self.solver, ctypes.byref(iterations))
        self.call(f"HYPRE_{self.method}GetFinalRelativeResidualNorm", self.solver, ctypes.byref(residual))
        self.iterations, self.claimed = iterations.value, code == 0 and residual.value <= self.rtol

    def answer(self):
        data = self.array(np.zeros(self.problem.n))
        self.call("HYPRE_IJVectorGetValues", self.x[0], self.problem.n, pointer(self.rows), pointer(data))
        return data.get() if hasattr(data, "get") else data


# ---- AmgX ----

class Amgx(Native):
    ON_A_HOST = False
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
        self.solver = None

    def setup(self):
        if self.solver:
            self.call("AMGX_solver_destroy", self.solver)
        self.solver = ctypes.c_void_p()
        self.call("AMGX_solver_create", ctypes.byref(self.solver), self.resources, self.FP64_ON_DEVICE, self.config)
        self.call("AMGX_solver_setup", self.solver, self.a)

    def solve(self):
        iterations, status = ctypes.c_int(), ctypes.c_int()
        self.call("AMGX_vector_set_zero", self.x, self.problem.n, 1)  # its solve adds to what x holds
        self.call("AMGX_solver_solve_with_0_initial_guess", self.solver, self.b, self.x)
        self.call("AMGX_solver_get_iterations_number", self.solver, ctypes.byref(iterations))
        self.call("AMGX_solver_get_status", self.solver, ctypes.byref(status))
        self.iterations, self.claimed = iterations.value, status.value == 0

    def answer(self):
        x = np.empty(self.problem.n)
        self.call("AMGX_vector_download", self.x, pointer(x))
        return x


# ---- AMGCL, on a host ----

class Amgcl(Native):
    """Its own interface in C, of scalar values: blocks of nodes enter by aggregation and near-nullspace vectors."""

    MANY, ON_A_GPU = True, False
    SETTINGS = {  # solver, coarsening, smoother
        "cg-sa": ("cg", "smoothed_aggregation", "spai0"), "cg-sa-gs": ("cg", "smoothed_aggregation", "gauss_seidel"),
        "cg-sa-chebyshev": ("cg", "smoothed_aggregation", "chebyshev"), "cg-rs": ("cg", "ruge_stuben", "spai0"),
        "cg-rs-gs": ("cg", "ruge_stuben", "gauss_seidel"), "cg-emin": ("cg", "smoothed_aggr_emin", "spai0"),
        "bicgstab-sa": ("bicgstab", "smoothed_aggregation", "spai0"),
        "bicgstab-sa-ilu0": ("bicgstab", "smoothed_aggregation", "ilu0"),
        "bicgstab-rs": ("bicgstab", "ruge_stuben", "spai0"), "gmres-sa": ("gmres", "smoothed_aggregation", "spai0"),
        "gmres-aggregation-ilu0": ("gmres", "aggregation", "ilu0"),
    }
    FOR = {SPD: ("cg-sa", "cg-sa-gs", "cg-sa-chebyshev", "cg-rs", "cg-rs-gs", "cg-emin"),
           UNSYMMETRIC: ("bicgstab-sa", "bicgstab-sa-ilu0", "bicgstab-rs", "gmres-sa", "gmres-aggregation-ilu0"),
           SYMMETRIC: ("gmres-sa", "bicgstab-sa-ilu0", "gmres-aggregation-ilu0")}

    class Info(ctypes.Structure):
        _fields_ = [("iterations", ctypes.c_int), ("residual", ctypes.c_double)]

    def __init__(self, path, problem, setting, options):
        super().__init__(path, problem, setting, options)
        self.version, self.matrix, self.solver = "AMGCL", problem.with_diagonal(), None  # the library has no number
        for name in ("amgcl_params_create", "amgcl_solver_create"):
            getattr(self.handle, name).restype = ctypes.c_void_p

    def parameters(self):
        method, coarsening, smoother = self.SETTINGS[self.setting]
        words = {"solver.type": method, "solver.tol": repr(self.rtol), "solver.maxiter": MOST,
                 "precond.coarsening.type": coarsening, "precond.relax.type": smoother}
        if method == "gmres":
            words["solver.M"] = 50
        if self.problem.coordinates is not None and coarsening == "smoothed_aggregation":
            self.modes = np.ascontiguousarray(rigid_body_modes(self.problem.coordinates))
            place = "precond.coarsening.nullspace."
            words.update({place + "cols": self.modes.shape[1], place + "rows": self.problem.n,
                          place + "B": hex(self.modes.ctypes.data), "precond.coarsening.aggr.eps_strong": 0})
        elif self.problem.coordinates is not None and coarsening != "ruge_stuben":
            words["precond.coarsening.aggr.block_size"] = self.problem.unknowns
        made = ctypes.c_void_p(self.handle.amgcl_params_create())
        for key, value in words.items():
            self.handle.amgcl_params_sets(made, key.encode(), str(value).encode())
        return made

    def setup(self):
        if self.solver:
            self.handle.amgcl_solver_destroy(self.solver)
        m, parameters = self.matrix, self.parameters()
        self.solver = ctypes.c_void_p(self.handle.amgcl_solver_create(
            self.problem.n, pointer(m.indptr), pointer(m.indices), pointer(m.data), parameters))
        self.handle.amgcl_params_destroy(parameters)

    def solve_column(self, b):
        x, b, info = np.zeros(self.problem.n), np.ascontiguousarray(b), self.Info()
        self.handle.amgcl_solver_solve_f(self.solver, pointer(b), pointer(x), ctypes.byref(info))
        return x, info.iterations, info.residual <= self.rtol


LIBRARIES = {"hypre": Hypre, "amgx": Amgx, "amgcl": Amgcl}
