/* SPDX-License-Identifier: Apache-2.0 */
/* What check.py compiles with the headers of an earlier version, which it puts in front: whether functions that
   initialise a struct stay within it, and a solve in which each struct is the earlier one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a, GUARD_BYTES = 4096, N = 20 };

static int failures;

static void expect(int holds, const char *what)
{
    if (holds) { return; }
    printf("not so: %s\n", what);
    failures += 1;
}

static int untouched(const unsigned char *bytes)
{
    for (int i = 0; i < GUARD_BYTES; i++) {
        if (bytes[i] != GUARD) { return 0; }
    }
    return 1;
}

/* The bytes before and behind the struct stay; on a stack they are the caller's other variables. */
#define CHECK_INIT(type)                                                                                       \
    do {                                                                                                       \
        static struct {                                                                                        \
            unsigned char before[GUARD_BYTES];                                                                 \
            type value;                                                                                        \
            unsigned char behind[GUARD_BYTES];                                                                 \
        } guarded;                                                                                             \
        memset(&guarded, GUARD, sizeof guarded);                                                               \
        type##_init(&guarded.value);                                                                           \
        expect(untouched(guarded.before) && untouched(guarded.behind), #type "_init stays within its struct"); \
    } while (0)

#define DO(call)                                                              \
    do {                                                                      \
        if ((call) != TESS_SUCCESS) {                                         \
            printf("%s: %s\n", #call, tess_context_last_error(ctx)->message); \
            exit(2);                                                          \
        }                                                                     \
    } while (0)

static int64_t row_ptr[N + 1];
static int32_t col_ind[3 * N];
static double val[3 * N];

/* 2.1 on the diagonal, -1 beside it. */
static tess_matrix *make_matrix(tess_context *ctx)
{
    tess_csr_arrays arrays;
    tess_matrix *a = NULL;
    int64_t k = 0;

    for (int i = 0; i < N; i++) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++) {
            col_ind[k] = j;
            val[k++] = i == j ? 2.1 : -1.0;
        }
        row_ptr[i + 1] = k;
    }
    tess_csr_arrays_init(&arrays);
    arrays.nrows = arrays.ncols = N;
    arrays.nnz = k;
    arrays.row_ptr = row_ptr;
    arrays.col_ind = col_ind;
    arrays.val = val;
    arrays.row_ptr_bits = 64;
    arrays.col_ind_bits = 32;
    DO(tess_matrix_create_csr(ctx, &arrays, &a));
    return a;
}

static void ask_matrix(tess_context *ctx, const tess_matrix *a, const tess_vector *b)
{
    tess_matrix_analysis facts;
    tess_findings findings;
    tess_solve_estimate estimate;
    tess_precond_options options;
    tess_precond_factors factors;
    tess_precond *m = NULL;

    tess_matrix_analysis_init(&facts);
    DO(tess_matrix_analyze(a, &facts));
    expect(facts.nrows == N && facts.numerically_symmetric == 1, "the matrix is analysed");
    tess_findings_init(&findings);
    DO(tess_find_problems(a, b, NULL, &findings));
    expect(findings.structural_rank == N, "the matrix has full rank");
    tess_solve_estimate_init(&estimate);
    DO(tess_solve_estimate_memory(a, NULL, &estimate));
    expect(estimate.total > 0, "a solve takes memory");
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_ILU0;
    DO(tess_precond_create(a, &options, &m));
    tess_precond_factors_init(&factors);
    DO(tess_precond_get_factors(m, &factors));
    expect(factors.nonzeros > 0, "the factors have entries");
    tess_precond_destroy(m);
}

static void solve(tess_context *ctx, const tess_matrix *a, const tess_vector *b, tess_vector *x)
{
    tess_solve_options options;
    tess_solve_result result;
    tess_verification found;
    tess_solver *solver = NULL;

    tess_solve_options_init(&options);
    options.rtol = 1e-12;
    DO(tess_solver_create(a, &options, &solver));
    tess_solve_result_init(&result);
    DO(tess_solver_solve(solver, b, x, &result));
    expect(result.converged == 1 && result.verified == 1, "the solve is verified");
    tess_verification_init(&found);
    DO(tess_verify(a, b, x, NULL, &found));
    expect(found.met == 1, "x is an answer");
    tess_solver_destroy(solver);
}

static void step(tess_context *ctx, const tess_matrix *a, tess_vector *x)
{
    tess_timestep_options options;
    tess_timestep_result result;
    tess_timestep *ts = NULL;

    tess_timestep_options_init(&options);
    DO(tess_timestep_create(a, &options, &ts));
    tess_timestep_result_init(&result);
    DO(tess_timestep_run(ts, x, 3, NULL, NULL, 0, &result));
    expect(result.count == 3, "three steps are made");
    tess_timestep_destroy(ts);
}

int main(void)
{
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_matrix *a = NULL;
    tess_vector *b = NULL, *x = NULL;

    setvbuf(stdout, NULL, _IONBF, 0); /* what was said stays if it crashes */
    CHECK_ALL_INITS
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    if (tess_context_create(&options, &ctx) != TESS_SUCCESS) { return 2; }
    a = make_matrix(ctx);
    DO(tess_vector_create(ctx, N, TESS_PRECISION_FP64, &b));
    DO(tess_vector_create(ctx, N, TESS_PRECISION_FP64, &x));
    DO(tess_vector_fill(b, 1.0));
    ask_matrix(ctx, a, b);
    solve(ctx, a, b, x);
    step(ctx, a, x);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return failures == 0 ? 0 : 1;
}
