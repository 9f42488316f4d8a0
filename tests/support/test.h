/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every test: cmocka with its prerequisites, matrices and vectors, and the shared fixtures. */
#ifndef TESS_TESTS_SUPPORT_TEST_H
#define TESS_TESTS_SUPPORT_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tessera/matrix.h>

#include "support/oracle.h"

/* The exit code of a test program when the machine lacks something that it needs. */
enum { TEST_SKIPPED = 77 };

/* Fails with the library's own words where a call does not succeed. */
#define assert_ok(ctx, call) check_ok(ctx, call, #call, __FILE__, __LINE__)
void check_ok(const tess_context *ctx, tess_status status, const char *call, const char *file, int line);

/* The call must fail with `expected` and leave a message in the context. */
#define assert_fails(ctx, expected, call) check_fails(ctx, expected, call, #call, __FILE__, __LINE__)
void check_fails(const tess_context *ctx, tess_status expected, tess_status status, const char *call, const char *file,
                 int line);

/* Fails unless a <= b, and says both. */
#define assert_at_most(a, b) check_at_most(a, b, #a " <= " #b, __FILE__, __LINE__)
void check_at_most(double a, double b, const char *what, const char *file, int line);

/* A context on the CPU. */
tess_context *open_cpu(int threads);
/* A context on the GPU, or NULL where this build or machine has none. With TESSERA_STAND_IN set: on a stand-in. */
tess_context *open_gpu(void);
/* Whether it is the one of tests/emulator: small, a thousand times slower, and compiled by the host's compiler. */
bool gpu_is_emulated(void);
/* A size or a number of turns: the first, or on the emulated GPU or the stand-in the second, which reaches the same
   code. */
int64_t on_gpu_or_emulated(int64_t on_gpu, int64_t emulated);

/*
 * A context on the device that a program's tests are for: the CPU, with so many threads. Programs of tests/gpu that
 * take the tests of tests/unit define TESTS_ON_GPU before they include anything: theirs is the GPU, which must be
 * there.
 */
#ifdef TESTS_ON_GPU
#define TEST_DEVICE TESS_DEVICE_GPU
#else
#define TEST_DEVICE TESS_DEVICE_CPU
#endif
tess_context *open_on(tess_device device, int threads);
static inline tess_context *open_device(int threads)
{
    return open_on(TEST_DEVICE, threads);
}

/*
 * The return value of main in a test program that needs a GPU. Opens a context in *gpu (NULL: the tests open their
 * own), runs the array of tests (those whose names match TESSERA_TESTS, if it is set; no match is a failure), closes
 * the context. Returns TEST_SKIPPED, with a line that says so, if this build or machine has no GPU.
 */
#define run_gpu_tests(tests, gpu) run_group_on_gpu(#tests, tests, sizeof(tests) / sizeof((tests)[0]), gpu)
int run_group_on_gpu(const char *name, const struct CMUnitTest *tests, size_t count, tess_context **gpu);

/* The return value of main in a program whose tests share `context`: it goes to *shared, and ends with them. */
#define run_with_context(context, tests, shared) \
    run_group_with_context(#tests, tests, sizeof(tests) / sizeof((tests)[0]), context, shared)
int run_group_with_context(const char *name, const struct CMUnitTest *tests, size_t count, tess_context *context,
                           tess_context **shared);

/* A matrix of the library made from one of the oracle's by copying. */
tess_matrix *make_matrix(tess_context *ctx, const oracle_csr *a);
/* Its CSR arrays as the library takes them: 64-bit offsets, 32-bit columns, host, copy. */
tess_csr_arrays csr_arrays_of(const oracle_csr *a);

/* FP64 vectors: from an array, of zeros, and back to an array of the caller. */
tess_vector *make_vector(tess_context *ctx, int64_t n, const double *values);
tess_vector *make_zeros(tess_context *ctx, int64_t n);
void read_vector(const tess_vector *v, double *values);

/* Memory that ends the test when there is none. */
void *test_allocate(int64_t count, size_t size);

/* n reproducible values in (low, high). */
double *random_values(int64_t n, uint64_t seed, double low, double high);

bool same_bits(const double *a, const double *b, int64_t n);

#endif
