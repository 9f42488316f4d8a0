/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>

#include "support/stand_in.h"
#include "support/test.h"

void check_ok(const tess_context *ctx, tess_status status, const char *call, const char *file, int line)
{
    if (status == TESS_SUCCESS) { return; }
    print_error("%s: %s: %s\n", call, tess_status_text(status), ctx ? tess_context_last_error(ctx)->message : "");
    _fail(file, line);
}

void check_fails(const tess_context *ctx, tess_status expected, tess_status status, const char *call, const char *file,
                 int line)
{
    const tess_error *error = tess_context_last_error(ctx);

    if (status == expected && error->status == expected && error->message[0] != '\0') { return; }
    print_error("%s: returned \"%s\" where \"%s\" was expected; last error: \"%s\", %s\n", call,
                tess_status_text(status), tess_status_text(expected), tess_status_text(error->status), error->message);
    _fail(file, line);
}

void check_at_most(double a, double b, const char *what, const char *file, int line)
{
    if (a <= b) { return; }
    print_error("%s: %.17g > %.17g\n", what, a, b);
    _fail(file, line);
}

tess_context *open_cpu(int threads)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = threads;
    assert_ok(NULL, tess_context_create(&options, &ctx));
    return ctx;
}

tess_context *open_gpu(void)
{
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_status status;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_GPU;
    status = tess_context_create(&options, &ctx);
    if (status == TESS_NO_DEVICE) { return open_stand_in_as_gpu(); }
    assert_ok(NULL, status);
    return ctx;
}

bool gpu_is_emulated(void)
{
    return strcmp(tess_gpu_backend(), "emulated") == 0;
}

int64_t on_gpu_or_emulated(int64_t on_gpu, int64_t emulated)
{
    return gpu_is_emulated() || getenv("TESSERA_STAND_IN") ? emulated : on_gpu;
}

tess_context *open_on(tess_device device, int threads)
{
    tess_context *ctx = device == TESS_DEVICE_GPU ? open_gpu() : open_cpu(threads);

    assert_non_null(ctx);
    return ctx;
}

/* Only those that TESSERA_TESTS matches, where it is set; false: none does. */
static bool choose_tests(const struct CMUnitTest *tests, size_t count)
{
    const char *pattern = getenv("TESSERA_TESTS");
    size_t chosen = 0;

    if (!pattern) { return true; }
    for (size_t i = 0; i < count; i++) {
        if (fnmatch(pattern, tests[i].name, 0) == 0) { chosen += 1; }
    }
    if (strchr(pattern, '[')) { chosen = 0; } /* cmocka knows * and ? alone: it would run nothing */
    if (chosen == 0) { print_error("no test is called like TESSERA_TESTS=%s\n", pattern); }
    cmocka_set_test_filter(pattern);
    return chosen > 0;
}

int run_group_on_gpu(const char *name, const struct CMUnitTest *tests, size_t count, tess_context **gpu)
{
    tess_context *ctx = open_gpu();
    int failed;

    if (!ctx) {
        printf("SKIPPED: no GPU in this build or machine\n");
        return TEST_SKIPPED;
    }
    if (gpu) { *gpu = ctx; }
    failed = choose_tests(tests, count) ? _cmocka_run_group_tests(name, tests, count, NULL, NULL) : 1;
    tess_context_destroy(ctx);
    return failed;
}

int run_group_with_context(const char *name, const struct CMUnitTest *tests, size_t count, tess_context *context,
                           tess_context **shared)
{
    int failed;

    *shared = context;
    failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    tess_context_destroy(context);
    return failed;
}

tess_csr_arrays csr_arrays_of(const oracle_csr *a)
{
    return (tess_csr_arrays){.size = sizeof(tess_csr_arrays),
                             .nrows = a->nrows,
                             .ncols = a->ncols,
                             .nnz = a->nnz,
                             .row_ptr = a->row_ptr,
                             .col_ind = a->col_ind,
                             .val = a->val,
                             .row_ptr_bits = 64,
                             .col_ind_bits = 32,
                             .where = TESS_MEMORY_HOST,
                             .ownership = TESS_COPY};
}

tess_matrix *make_matrix(tess_context *ctx, const oracle_csr *a)
{
    tess_csr_arrays arrays = csr_arrays_of(a);
    tess_matrix *m = NULL;

    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
    return m;
}

tess_vector *make_zeros(tess_context *ctx, int64_t n)
{
    tess_vector *v = NULL;

    assert_ok(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP64, &v));
    return v;
}

tess_vector *make_vector(tess_context *ctx, int64_t n, const double *values)
{
    tess_vector *v = make_zeros(ctx, n);

    assert_ok(ctx, tess_vector_set(v, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    return v;
}

void read_vector(const tess_vector *v, double *values)
{
    assert_ok(tess_vector_context(v), tess_vector_get(v, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
}

void *test_allocate(int64_t count, size_t size)
{
    void *p = calloc(count > 0 ? (size_t)count : 1, size);

    assert_non_null(p);
    return p;
}

double *random_values(int64_t n, uint64_t seed, double low, double high)
{
    double *values = test_allocate(n, sizeof *values);

    for (int64_t i = 0; i < n; i++) {
        values[i] = oracle_uniform(&seed, low, high);
    }
    return values;
}

bool same_bits(const double *a, const double *b, int64_t n)
{
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}
