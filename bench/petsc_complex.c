/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complex Krylov methods of PETSc's complex build beside ours, in turn in one process on one thread; by
 * petsc_complex.sh. Arguments: RTOL ROUNDS MATRIX..., where a MATRIX is a file or NAME:N[:N] of the gallery. b has
 * values exp(i k). Both have right preconditioning, restart after 50 vectors, and stop by the norm of b - A x. Seconds
 * of the processor, the least of the rounds: set-up, solve. Ours verifies its answer within the solve.
 */
#include <math.h>
#include <petscksp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tessera/tessera.h>

enum { RESTART = 50, MOST_ITERATIONS = 5000, MOST_ARGUMENTS = 8 };

typedef struct problem {
    PetscInt n;
    PetscInt *row_ptr, *col_ind;
    PetscScalar *val, *b, *x;
    tess_context *ctx;
    tess_matrix *matrix;
} problem;

typedef struct method {
    const char *name, *ksp, *pc;
    tess_solver_kind solver;
    tess_precond_kind precond;
} method;

typedef struct outcome {
    double setup, solve, residual;
    long long iterations;
    int converged;
} outcome;

static const method methods[] = {
    {"bicgstab, none", KSPBCGS, PCNONE, TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE},
    {"bicgstab, ilu0", KSPBCGS, PCILU, TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILU0},
    {"gmres, jacobi", KSPGMRES, PCJACOBI, TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI},
    {"gmres, ilu0", KSPGMRES, PCILU, TESS_SOLVER_GMRES, TESS_PRECOND_ILU0},
};

static double processor_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);

    if (!p) { exit(1); }
    return p;
}

static void require(problem *p, tess_status status, const char *what)
{
    if (status == TESS_SUCCESS) { return; }
    fprintf(stderr, "%s: %s\n", what, tess_context_last_error(p->ctx)->message);
    exit(1);
}

static void open_matrix(problem *p, const char *name)
{
    char copy[256], *word[MOST_ARGUMENTS];
    int words = 0;
    FILE *file = fopen(name, "rb");

    if (file) {
        fclose(file);
        require(p, tess_matrix_read(p->ctx, name, &p->matrix, NULL), name);
        return;
    }
    snprintf(copy, sizeof copy, "%s", name);
    for (char *w = strtok(copy, ":"); w && words < MOST_ARGUMENTS; w = strtok(NULL, ":")) {
        word[words++] = w;
    }
    require(p, tess_gallery_create(p->ctx, word[0], words - 1, (const char *const *)word + 1, &p->matrix), name);
}

/* Rows of the complex matrix from its real form: row 2 i has re and -im, row 2 i + 1 im and re. */
static void open_problem(problem *p, const char *name)
{
    open_matrix(p, name);
    const int64_t rows = tess_matrix_nrows(p->matrix), nnz = tess_matrix_nnz(p->matrix);
    int64_t *row_ptr = allocate((size_t)(rows + 1) * sizeof *row_ptr);
    int32_t *col_ind = allocate((size_t)nnz * sizeof *col_ind);
    double *val = allocate((size_t)nnz * sizeof *val);

    if (!tess_matrix_is_complex(p->matrix)) {
        fprintf(stderr, "%s: a complex matrix was expected\n", name);
        exit(1);
    }
    require(p, tess_matrix_get_csr(p->matrix, row_ptr, col_ind, val), name);
    p->n = (PetscInt)(rows / 2);
    p->row_ptr = allocate((size_t)(p->n + 1) * sizeof *p->row_ptr);
    p->col_ind = allocate((size_t)(nnz / 4) * sizeof *p->col_ind);
    p->val = allocate((size_t)(nnz / 4) * sizeof *p->val);
    p->b = allocate((size_t)p->n * sizeof *p->b);
    p->x = allocate((size_t)p->n * sizeof *p->x);
    p->row_ptr[0] = 0;
    for (PetscInt i = 0; i < p->n; i++) {
        PetscInt at = p->row_ptr[i];

        p->b[i] = cos((double)i) + sin((double)i) * PETSC_i;
        for (int64_t k = row_ptr[2 * i]; k < row_ptr[2 * i + 1]; k += 2, at++) {
            p->col_ind[at] = col_ind[k] / 2;
            p->val[at] = val[k] - val[k + 1] * PETSC_i;
        }
        p->row_ptr[i + 1] = at;
    }
    free(row_ptr);
    free(col_ind);
    free(val);
}

static void close_problem(problem *p)
{
    tess_matrix_destroy(p->matrix);
    free(p->row_ptr);
    free(p->col_ind);
    free(p->val);
    free(p->b);
    free(p->x);
}

/* ||b - A x|| / ||b|| of what either left in x. */
static double residual_of(const problem *p)
{
    double r = 0.0, b = 0.0;

    for (PetscInt i = 0; i < p->n; i++) {
        PetscScalar sum = p->b[i];

        for (PetscInt k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
            sum -= p->val[k] * p->x[p->col_ind[k]];
        }
        r += PetscRealPart(sum * PetscConj(sum));
        b += PetscRealPart(p->b[i] * PetscConj(p->b[i]));
    }
    return sqrt(r / b);
}

static PetscErrorCode run_petsc(problem *p, const method *m, double rtol, outcome *out)
{
    Mat a;
    Vec b, x;
    KSP ksp;
    PC pc;
    KSPConvergedReason reason;
    PetscInt iterations = 0;
    double start = 0.0;

    PetscFunctionBeginUser;
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, p->n, p->n, p->row_ptr, p->col_ind, p->val, &a));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, p->n, p->b, &b));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, p->n, p->x, &x));
    start = processor_seconds();
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, a, a));
    PetscCall(KSPSetType(ksp, m->ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, m->pc));
    PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPGMRESSetRestart(ksp, RESTART));
    PetscCall(KSPSetTolerances(ksp, rtol, 0.0, PETSC_DEFAULT, MOST_ITERATIONS));
    PetscCall(KSPSetUp(ksp));
    out->setup = processor_seconds() - start;
    PetscCall(VecSet(x, 0.0));
    start = processor_seconds();
    PetscCall(KSPSolve(ksp, b, x));
    out->solve = processor_seconds() - start;
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    out->iterations = iterations;
    out->converged = reason > 0;
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&a));
    out->residual = residual_of(p);
    PetscFunctionReturn(0);
}

static void run_tessera(problem *p, const method *m, double rtol, outcome *out)
{
    tess_solve_options options;
    tess_solve_result result;
    tess_solver *solver = NULL;
    tess_vector *b = NULL, *x = NULL;
    double start = 0.0;

    tess_solve_options_init(&options);
    tess_solve_result_init(&result);
    options.solver = m->solver;
    options.precond.kind = m->precond;
    options.rtol = rtol;
    options.max_iterations = MOST_ITERATIONS;
    options.gmres.restart = RESTART;
    options.storage.format = TESS_FORMAT_AUTO;
    require(p, tess_vector_create(p->ctx, 2 * (int64_t)p->n, TESS_PRECISION_FP64, &b), "b");
    require(p, tess_vector_create(p->ctx, 2 * (int64_t)p->n, TESS_PRECISION_FP64, &x), "x");
    require(p, tess_vector_set(b, p->b, TESS_PRECISION_FP64, TESS_MEMORY_HOST), "b");
    require(p, tess_vector_fill(x, 0.0), "x");
    start = processor_seconds();
    require(p, tess_solver_create(p->matrix, &options, &solver), m->name);
    out->setup = processor_seconds() - start;
    start = processor_seconds();
    require(p, tess_solver_solve(solver, b, x, &result), m->name);
    out->solve = processor_seconds() - start;
    require(p, tess_vector_get(x, p->x, TESS_PRECISION_FP64, TESS_MEMORY_HOST), "x");
    out->iterations = result.iterations;
    out->converged = result.converged;
    out->residual = residual_of(p);
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
}

static void keep_least(outcome *least, const outcome *now, int round)
{
    const double setup = least->setup, solve = least->solve;

    *least = *now;
    if (round > 0 && setup < now->setup) { least->setup = setup; }
    if (round > 0 && solve < now->solve) { least->solve = solve; }
}

static PetscErrorCode compare(const char *name, double rtol, int rounds)
{
    problem p = {0};
    tess_context_options options;

    PetscFunctionBeginUser;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    require(&p, tess_context_create(&options, &p.ctx), "context");
    open_problem(&p, name);
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        outcome theirs = {0}, ours = {0}, now;

        for (int round = 0; round < rounds; round++) {
            PetscCall(run_petsc(&p, &methods[k], rtol, &now));
            keep_least(&theirs, &now, round);
            run_tessera(&p, &methods[k], rtol, &now);
            keep_least(&ours, &now, round);
        }
        const char *end = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
        printf("%-24s %-15s %7d  %5lld%c %9.2f %9.2f %8.1e  %5lld%c %9.2f %9.2f %8.1e  %5.2f %5.2f\n", end,
               methods[k].name, (int)p.n, theirs.iterations, theirs.converged ? ' ' : '!', 1e3 * theirs.setup,
               1e3 * theirs.solve, theirs.residual, ours.iterations, ours.converged ? ' ' : '!', 1e3 * ours.setup,
               1e3 * ours.solve, ours.residual, (ours.setup + ours.solve) / (theirs.setup + theirs.solve),
               ours.solve / (double)ours.iterations / (theirs.solve / (double)theirs.iterations));
        fflush(stdout);
    }
    close_problem(&p);
    tess_context_destroy(p.ctx);
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    const double rtol = argc > 1 ? strtod(argv[1], NULL) : 1e-8;
    const int rounds = argc > 2 ? atoi(argv[2]) : 3;

    PetscCall(PetscInitializeNoArguments());
    printf("%-24s %-15s %7s  %-6s %9s %9s %8s  %-6s %9s %9s %8s  %5s %5s\n", "matrix", "method", "rows", "PETSc",
           "set-up", "solve, ms", "residual", "ours", "set-up", "solve, ms", "residual", "ratio", "each");
    for (int k = 3; k < argc; k++) {
        PetscCall(compare(argv[k], rtol, rounds));
    }
    PetscCall(PetscFinalize());
    return 0;
}
