/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks share: options, matrix sets, timing, measured bandwidth, independent checks, report.
 * These are programs: a failure of the harness itself prints a message and exits.
 */
#ifndef TESS_BENCH_HARNESS_HARNESS_H
#define TESS_BENCH_HARNESS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <argp.h>
#include <jansson.h>

#include <tessera/papers.h>
#include <tessera/tessera.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options (options.c) ---- */

enum { BENCH_MAX_NAMES = 64 };

typedef struct bench_options {
    const char *sets[BENCH_MAX_NAMES];     /* names of sets, in the order given */
    const char *matrices[BENCH_MAX_NAMES]; /* files or gallery:NAME:ARG:ARG */
    int nsets, nmatrices;
    const char *directory; /* of the real matrices; NULL: none */
    const char *cache;     /* directory of binary caches; NULL: none */
    const char *json;      /* NULL: none */
    const char *commit;
    tess_device device;
    int threads;
    int repeat;   /* samples per measurement */
    bool quick;   /* fewer samples, smaller bandwidth arrays */
    bool listing; /* --list: print the matrices and end */
} bench_options;

/* --set, --matrix, --matrices, --cache, --json, --device, --threads, --repeat, --quick, --commit, --list. Its input is
   a bench_options that bench_options_init filled. */
extern const struct argp bench_argp;
void bench_options_init(bench_options *options);
/* Parses argv with bench_argp as a child of `program`, whose own options (if any) get `input`. */
void bench_parse(int argc, char **argv, const struct argp *program, bench_options *options, void *input);

/* Whether a comma-separated list has the name; NULL has all. */
bool bench_is_named(const char *list, const char *name);
/* A multiple of `multiple` from `lowest` on; argp's usage error on anything else. */
int64_t bench_read_count(struct argp_state *state, const char *option, const char *text, int64_t lowest,
                         int64_t multiple);
/* The sizes of a comma-separated list (changed), at most `most`, then 0; argp's usage error on a wrong one. */
void bench_read_sizes(struct argp_state *state, char *text, int most, int64_t *sizes);

/* ---- matrix sets (harness/sets.c) ---- */

typedef struct bench_case {
    char name[80];
    char source[512];    /* path of a file, or gallery:NAME:ARG:ARG */
    char needs[80];      /* file that must be there, without the directory; empty: none */
    char class_name[32]; /* as the manifest says: spd, unsym, ...; empty: unknown */
    bool slow;           /* worth a binary cache */
    int64_t nrows, nnz;  /* as the manifest says; 0: unknown */
} bench_case;

typedef struct bench_cases {
    bench_case *items;
    size_t count;
} bench_cases;

/* The matrices of --set and --matrix, without duplicates; `fallback` is the set taken when neither was given. */
bench_cases bench_cases_select(const bench_options *options, const char *fallback);
void bench_cases_free(bench_cases *cases);
/* Makes or reads the matrix. On failure, and once bench_is_ending, *out is NULL and `reason` says why ("skipped: needs
 * FILE", ...). */
tess_status bench_case_load(tess_context *ctx, const bench_options *options, const bench_case *which, tess_matrix **out,
                            char *reason, size_t reason_size);

/* ---- the run: context, measured ceilings, report (run.c) ---- */

typedef struct bench_ceiling {
    double read;  /* device: bytes per second of a reading reduction; host: the same with OpenMP */
    double copy;  /* device: read + write; 0 on the host */
    double triad; /* host: STREAM triad, 24 bytes per element; 0 on a device */
} bench_ceiling;

typedef struct bench_run {
    const bench_options *options;
    const char *study;
    tess_context *ctx;
    bool gpu;
    int64_t cache_bytes; /* last-level cache that inputs should exceed */
    bench_ceiling ceiling;
    json_t *root, *results, *skipped;
    int failures;
    double written; /* when the JSON file was last written */
} bench_run;

/* Ends the program at a failure: says what failed, and why. */
void bench_require(tess_status status, const tess_context *ctx, const char *what);
tess_context *bench_context(tess_device device, int threads);
/* Creates the context, measures the ceilings when asked and prints the head of the report. */
void bench_begin(bench_run *run, const bench_options *options, const char *study, bool with_ceiling);
/* Adds a row to the JSON report (takes it) and rewrites the file now and then: an interrupted run leaves something. */
void bench_add(bench_run *run, json_t *row);
/* Prints a line and records it under "skipped". */
void bench_skip(bench_run *run, const char *name, const char *reason);
/* Prints a failure, records it, and makes bench_end return 1. */
void bench_fault(bench_run *run, const char *name, const char *what, tess_status status);
/* Writes the JSON file and frees the run; the exit code of the program: 1 after failures, and where bench_is_ending. */
int bench_end(bench_run *run);
/* Whether SIGTERM or SIGINT has asked the run to end: no more matrices are loaded, and what has run is reported.
   Another, two seconds later, ends it at once. */
bool bench_is_ending(void);
/* What SpMV-like work can reach, in bytes per second: device read, or host triad; 0: not measured. */
double bench_ceiling_of(const bench_run *run);
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void *bench_allocate(size_t count, size_t size);
/* Sets several keys of an object; format and arguments are those of json_pack, as "{s:s, s:b}". */
void bench_set(json_t *object, const char *format, ...);

/* ---- timing (timing.c) ---- */

typedef struct bench_time {
    double median, lowest, highest; /* seconds per call */
    int samples, calls;             /* calls timed together in one sample */
} bench_time;

/* Runs (on the host) or enqueues (on the context's stream) call number k; rotates its inputs by k. */
typedef tess_status (*bench_call)(void *user, int k);

/*
 * Median time of a call: device events on the context's stream, a wall clock on the host. Three warm-up calls; short
 * calls are timed several to a sample; samples end after options->repeat or, from the fifth on, at a time limit.
 */
tess_status bench_measure(const bench_run *run, bench_call call, void *user, bench_time *out);
bench_time bench_time_of_samples(double *samples, int count, int calls);
int bench_calls_per_sample(double seconds_per_call);
double bench_wall_seconds(void);
void bench_host_ceiling(int threads, bool quick, bench_ceiling *out);
int64_t bench_host_cache_bytes(void);

/* Number of vector pairs to rotate so that x and y come from memory, and whether all of it lies in the cache anyway. */
typedef struct bench_rotation {
    int pairs;
    bool in_cache;
} bench_rotation;
bench_rotation bench_rotate(const bench_run *run, int64_t matrix_bytes, int64_t vector_bytes);

/* ---- independent checks (check.c) ---- */

/* Host copy of a matrix's nonzeros. */
typedef struct bench_csr {
    int64_t nrows, ncols, nnz;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
} bench_csr;

tess_status bench_csr_get(const tess_matrix *a, bench_csr *out);
void bench_csr_free(bench_csr *csr);

/* What y = A x must be: the exact row sums in extended precision and the bound on an FP64 kernel's error. */
typedef struct bench_product {
    int64_t nrows;
    double *value, *bound;
} bench_product;

void bench_product_make(const bench_csr *a, const double *x, bench_product *out);
/* The same for a kernel that sums in pairs of FP32 numbers. */
void bench_product_make_pairs(const bench_csr *a, const double *x, bench_product *out);
/* The same for a kernel that computes with FP32 vectors, in FP32 or FP64 arithmetic; x holds what its floats are. */
void bench_product_make_fp32(const bench_csr *a, const double *x, tess_arithmetic arithmetic, bench_product *out);
void bench_product_free(bench_product *product);
/* Largest |y - exact| / bound; at most 1 for a right kernel. Infinite where y or the exact value alone is not finite.
 */
double bench_product_compare(const bench_product *product, const double *y);

/* x . y in long double, and the sum of the magnitudes of its terms unless NULL: the same for any number of threads. */
long double bench_exact_dot(int64_t n, const double *x, const double *y, long double *magnitude);

/* ||b - A x||_2 and ||b||_2, every product and sum in __float128: shares no code with the library. */
typedef struct bench_residual {
    double norm, rhs_norm;
} bench_residual;
bench_residual bench_true_residual(const bench_csr *a, const double *b, const double *x);

/* Bytes that one y = A x must move: values, columns and offsets once, x once, y once. */
int64_t bench_spmv_bytes(int64_t nrows, int64_t ncols, int64_t nnz, int value_bytes);

#ifdef __cplusplus
}
#endif

#endif
