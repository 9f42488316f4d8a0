# SPDX-License-Identifier: Apache-2.0
"""PETSc on a host, in one process or, as `petsc-mpi`, in as many as others have threads."""
import numpy as np

from base import MOST, Solver
from problems import SPD, SYMMETRIC, UNSYMMETRIC

HOW = """PETSc with hypre and MUMPS: Debian's python3-petsc4py with python3-scipy, for /usr/bin/python3:
  contest.py --python-of petsc=/usr/bin/python3 --python-of petsc-mpi=/usr/bin/python3
"""
GMRES = "-ksp_type gmres -ksp_pc_side right -ksp_gmres_restart 50 "
MUMPS = " -ksp_type preonly -pc_factor_mat_solver_type mumps -mat_mumps_icntl_14 400"  # room for pivots
CHOLESKY, LU = "-pc_type cholesky" + MUMPS, "-pc_type lu" + MUMPS


class Petsc(Solver):
    """Thresholds, unsmoothed aggregation without symmetry and hypre's 0.5 in 3-D are what its manual advises."""

    SETTINGS = {
        "cg-gamg": "-ksp_type cg -pc_type gamg", "cg-gamg-0.02": "-ksp_type cg -pc_type gamg -pc_gamg_threshold 0.02",
        "cg-hypre": "-ksp_type cg -pc_type hypre",
        "cg-hypre-0.5": "-ksp_type cg -pc_type hypre -pc_hypre_boomeramg_strong_threshold 0.5",
        "cg-icc": "-ksp_type cg -pc_type bjacobi -sub_pc_type icc", "cg-jacobi": "-ksp_type cg -pc_type jacobi",
        "bicgstab-ilu": "-ksp_type bcgs -ksp_pc_side right -pc_type bjacobi -sub_pc_type ilu",
        "gmres-ilu": GMRES + "-pc_type bjacobi -sub_pc_type ilu -sub_pc_factor_shift_type nonzero",
        "gmres-gamg": GMRES + "-pc_type gamg", "gmres-gamg-plain": GMRES + "-pc_type gamg -pc_gamg_agg_nsmooths 0",
        "gmres-hypre": GMRES + "-pc_type hypre", "mumps": LU, "mumps-ldlt": CHOLESKY,
        "minres-jacobi": "-ksp_type minres -pc_type jacobi -pc_jacobi_abs",
        "gmres-fieldsplit": "-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_detect_saddle_point "
                            "-pc_fieldsplit_type schur -pc_fieldsplit_schur_fact_type upper "
                            "-pc_fieldsplit_schur_precondition selfp -fieldsplit_0_pc_type gamg "
                            "-fieldsplit_0_ksp_type preonly -fieldsplit_1_ksp_type preonly "
                            "-fieldsplit_1_pc_type jacobi",
    }
    FOR = {SPD: ("cg-gamg", "cg-gamg-0.02", "cg-hypre", "cg-hypre-0.5", "cg-icc", "cg-jacobi", "mumps-ldlt"),
           UNSYMMETRIC: ("gmres-hypre", "bicgstab-ilu", "gmres-ilu", "gmres-gamg", "gmres-gamg-plain", "mumps"),
           SYMMETRIC: ("gmres-fieldsplit", "minres-jacobi", "gmres-ilu", "mumps-ldlt", "mumps")}
    OTHER_NORM = ("minres-jacobi",)  # its preconditioned one

    def __init__(self, problem, setting, options):
        super().__init__(problem, setting, options)
        import petsc4py
        petsc4py.init(["contest"])
        from petsc4py import PETSc
        self.petsc, self.comm = PETSc, PETSc.COMM_WORLD
        self.version = "PETSc " + ".".join(map(str, PETSc.Sys.getVersion()))
        if self.comm.getSize() > 1:
            self.version += f", {self.comm.getSize()} processes"
        self.is_first, self.is_direct = self.comm.getRank() == 0, setting.startswith("mumps")
        self.first, self.last = self.own_rows(problem)
        self.a = self.make_matrix(problem)
        self.b, self.x_ = self.a.createVecRight(), self.a.createVecRight()
        if problem.b.ndim > 1 and self.is_direct:
            self.many_b, self.many_x = (self.dense(b[self.first:self.last]) for b in (problem.b, 0.0 * problem.b))

    def dense(self, own):
        """These rows of an array of several columns, as PETSc's dense matrix."""
        shape = (len(own), self.problem.n), (None, own.shape[1])
        matrix = self.petsc.Mat().createDense(shape, array=own.ravel("F").copy(), comm=self.comm)
        matrix.assemble()
        return matrix

    def own_rows(self, problem):
        """First and last + 1 row of this process: whole nodes."""
        nodes, size, rank = problem.n // problem.unknowns, self.comm.getSize(), self.comm.getRank()
        return (problem.unknowns * (nodes * k // size) for k in (rank, rank + 1))

    def make_matrix(self, problem):
        p, own = self.petsc, slice(self.first, self.last)
        m = problem.matrix if self.is_direct else problem.with_diagonal()
        begin, end = m.indptr[self.first], m.indptr[self.last]
        rows = (self.last - self.first, problem.n)
        a = p.Mat().createAIJ((rows, rows), comm=self.comm, bsize=problem.unknowns, csr=(
            m.indptr[self.first:self.last + 1] - begin, m.indices[begin:end], m.data[begin:end]))
        a.assemble()
        if problem.coordinates is not None:
            d = problem.unknowns
            coordinates = problem.coordinates.ravel()[own].copy()
            a.setNearNullSpace(p.NullSpace().createRigidBody(
                p.Vec().createWithArray(coordinates, size=rows, bsize=d, comm=self.comm)))
        if problem.kind != UNSYMMETRIC:
            a.setOption(p.Mat.Option.SYMMETRIC, True)
        if problem.kind == SPD:
            a.setOption(p.Mat.Option.SPD, True)
        return a

    def wait(self):
        self.comm.barrier()

    def agreed(self, decision):
        return bool(self.gathered(np.full(int(self.is_first), float(decision)))[0])

    def gathered(self, own):
        """The parts of all processes, one after another."""
        vector = self.petsc.Vec().createWithArray(own.copy(), size=(len(own), None), comm=self.comm)
        scatter, every = self.petsc.Scatter.toAll(vector)
        scatter.scatter(vector, every)
        return every.getArray().copy()

    def setup(self):
        database = self.petsc.Options()
        words = self.SETTINGS[self.setting].split()
        k = 0
        while k < len(words):
            has_value = k + 1 < len(words) and not words[k + 1].startswith("-")
            database.setValue(words[k], words[k + 1] if has_value else None)
            k += 2 if has_value else 1
        self.ksp = self.petsc.KSP().create(self.comm)
        self.ksp.setOperators(self.a)
        self.ksp.setFromOptions()
        self.ksp.setTolerances(rtol=self.rtol, atol=0.0, max_it=MOST)
        if not self.is_direct:
            self.ksp.setNormType(self.petsc.KSP.NormType.DEFAULT if self.ksp.getType() == "minres"
                                 else self.petsc.KSP.NormType.UNPRECONDITIONED)
        self.ksp.setUp()

    def solve(self):
        if self.problem.b.ndim > 1 and self.is_direct:
            self.ksp.getPC().getFactorMatrix().matSolve(self.many_b, self.many_x)
            self.x = self.many_x.getDenseArray().copy()
        else:
            super().solve()
        if self.is_direct:
            self.claimed = None if self.ksp.getConvergedReason() >= 0 else False

    def solve_column(self, b):
        self.b.setArray(b[self.first:self.last])
        self.x_.set(0.0)
        self.ksp.solve(self.b, self.x_)
        return self.x_.getArray().copy(), self.ksp.getIterationNumber(), self.ksp.getConvergedReason() > 0

    def answer(self):
        if self.x.ndim == 1:
            return self.gathered(self.x)
        return np.stack([self.gathered(column) for column in self.x.T], axis=1)
