/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/direct/mumps.h"

#ifdef TESS_MUMPS

#include <pthread.h>
#include <string.h>

#include "base/blas_calls.h"
#include "base/library.h"
#include "precond/direct/factors_module.h"

/* MUMPS' numbers: the sequential library's only communicator; the jobs that begin and end an instance; bytes of a
   megabyte in its estimates. */
enum { WHOLE_WORLD = -987654, JOB_OPEN = -1, JOB_CLOSE = -2, MEGABYTE = 1000000 };
/* Entries of ICNTL and INFOG, from 0. */
enum { ICNTL_ORDERING = 6, ICNTL_SCALING = 7, ICNTL_TRANSPOSED = 8, ICNTL_RELAXATION = 13, ICNTL_NULL_PIVOTS = 23 };
/* Approximate minimum fill: Scotch does not repeat its orderings, and PORD ends the program for some small graphs. */
enum { SCALING_AUTO = 77, SCALING_ITERATIVE = 7, ORDERING_GIVEN = 1, ORDERING_FILL = 2 };
enum {
    INFOG_EXPECTED_REAL = 2, /* by the analysis: entries of the factors */
    INFOG_EXPECTED_INTEGER = 3,
    INFOG_REAL = 8,
    INFOG_INTEGER = 9,
    INFOG_NEGATIVE = 11,
    INFOG_PREDICTED = 16,
    INFOG_NULL_PIVOTS = 27,
    INFOG_ENTRIES = 28
};

struct mumps_instance {
    bool single, is_complex;
    union {
        SMUMPS_STRUC_C fp32;
        DMUMPS_STRUC_C fp64;
        CMUMPS_STRUC_C complex_fp32;
        ZMUMPS_STRUC_C complex_fp64;
    } id;
};

/* An operation of complex numbers, in real ones. */
static const double complex_operations = 4.0;

/* Loaded at the first question. */
static const factors_module *module;
static char problem[256]; /* why it was not */
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

/* MUMPS keeps state of its own between calls. METIS takes its random numbers from rand(): one order at a time repeats,
   unless the program calls rand() too. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void set_controls(MUMPS_INT *icntl, mumps_step step, const mumps_arguments *a)
{
    for (int stream = 0; stream < 3; stream++) {
        icntl[stream] = -1; /* no messages */
    }
    icntl[3] = 0;
    icntl[ICNTL_ORDERING] = a->position ? ORDERING_GIVEN : ORDERING_FILL;
    if (step == MUMPS_ANALYSE) { icntl[ICNTL_SCALING] = SCALING_AUTO; }
    if (a->rescale) { icntl[ICNTL_SCALING] = SCALING_ITERATIVE; }
    icntl[ICNTL_TRANSPOSED] = a->transposed ? 0 : 1;
    icntl[ICNTL_NULL_PIVOTS] = a->null_pivots ? 1 : 0;
    icntl[ICNTL_RELAXATION] = (MUMPS_INT)a->relaxation;
}

/* A negative count is one of millions. */
static int64_t count_of(MUMPS_INT given)
{
    return given < 0 ? -(int64_t)given * MEGABYTE : given;
}

/* Entries, and the integers beside them, in bytes. */
static int64_t bytes_of(MUMPS_INT reals, MUMPS_INT integers, size_t value)
{
    return count_of(reals) * (int64_t)value + count_of(integers) * (int64_t)sizeof(MUMPS_INT);
}

static mumps_reply read_reply(const MUMPS_INT *infog, size_t value)
{
    const int64_t whole = (int64_t)infog[INFOG_PREDICTED] * MEGABYTE; /* 0 for small matrices */
    const int64_t least = bytes_of(infog[INFOG_EXPECTED_REAL], infog[INFOG_EXPECTED_INTEGER], value);

    return (mumps_reply){.code = infog[0],
                         .detail = infog[1],
                         .predicted = whole > least ? whole : least,
                         .entries = count_of(infog[INFOG_ENTRIES]),
                         .bytes = bytes_of(infog[INFOG_REAL], infog[INFOG_INTEGER], value),
                         .negative_pivots = infog[INFOG_NEGATIVE],
                         .null_pivots = infog[INFOG_NULL_PIVOTS]};
}

#define STRUCTURE SMUMPS_STRUC_C
#define CALL module->fp32
#define NAMED(name) name##_fp32
#include "precond/direct/mumps_call.h"
#undef STRUCTURE
#undef CALL
#undef NAMED
#define STRUCTURE DMUMPS_STRUC_C
#define CALL module->fp64
#define NAMED(name) name##_fp64
#include "precond/direct/mumps_call.h"
#undef STRUCTURE
#undef CALL
#undef NAMED

#define STRUCTURE CMUMPS_STRUC_C
#define CALL module->complex_fp32
#define NAMED(name) name##_complex_fp32
#include "precond/direct/mumps_call.h"
#undef STRUCTURE
#undef CALL
#undef NAMED
#define STRUCTURE ZMUMPS_STRUC_C
#define CALL module->complex_fp64
#define NAMED(name) name##_complex_fp64
#include "precond/direct/mumps_call.h"
#undef STRUCTURE
#undef CALL
#undef NAMED

/* A fork waits for the call of another thread: the child has a MUMPS that is not amid a call, and a free lock. */
static void before_fork(void)
{
    pthread_mutex_lock(&one_at_a_time);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&one_at_a_time);
}

static void load(void)
{
    tess_blas_end(tess_blas_begin()); /* its lock is taken after ours, at a fork too: so it registers first */
    (void)pthread_atfork(before_fork, after_fork, after_fork);
    module = tess_module_symbol(FACTORS_MODULE_FILE, FACTORS_MODULE_SYMBOL, problem, sizeof problem);
    if (module && module->version != FACTORS_MODULE_VERSION) { module = NULL; }
}

bool mumps_is_here(void)
{
    pthread_once(&loaded, load);
    return module != NULL;
}

const char *mumps_absence(void)
{
    pthread_once(&loaded, load);
    return module ? "" : problem;
}

bool mumps_dissect(int32_t n, int32_t *start, int32_t *neighbour, int32_t *order, int32_t *place)
{
    bool done = false;

    if (!mumps_is_here() || !module->dissect) { return false; }
    pthread_mutex_lock(&one_at_a_time);
    done = module->dissect(n, start, neighbour, order, place) == 0;
    pthread_mutex_unlock(&one_at_a_time);
    return done;
}

/* One of the four functions `name`_..., by the instance's kind of numbers. */
#define BY_NUMBERS(m, name, ...)                                                                             \
    ((m)->is_complex ? ((m)->single ? name##_complex_fp32(&(m)->id.complex_fp32 __VA_OPT__(, ) __VA_ARGS__)  \
                                    : name##_complex_fp64(&(m)->id.complex_fp64 __VA_OPT__(, ) __VA_ARGS__)) \
                     : ((m)->single ? name##_fp32(&(m)->id.fp32 __VA_OPT__(, ) __VA_ARGS__)                  \
                                    : name##_fp64(&(m)->id.fp64 __VA_OPT__(, ) __VA_ARGS__)))

tess_status mumps_open(tess_context *ctx, tess_precision precision, bool is_complex, mumps_symmetry symmetry,
                       mumps_instance **out)
{
    mumps_instance *m = NULL;
    const tess_status status = tess_host_allocate(ctx, 1, sizeof *m, (void **)&m);

    if (status != TESS_SUCCESS) { return status; }
    m->single = precision == TESS_PRECISION_FP32;
    m->is_complex = is_complex;
    pthread_mutex_lock(&one_at_a_time);
    BY_NUMBERS(m, open, symmetry);
    pthread_mutex_unlock(&one_at_a_time);
    *out = m;
    return TESS_SUCCESS;
}

mumps_reply mumps_run(mumps_instance *m, mumps_step step, const mumps_arguments *arguments)
{
    mumps_reply reply;
    int threads = 0;

    pthread_mutex_lock(&one_at_a_time);
    threads = tess_blas_begin();
    reply = BY_NUMBERS(m, run, step, arguments);
    tess_blas_end(threads);
    pthread_mutex_unlock(&one_at_a_time);
    if (m->is_complex) { reply.flops *= complex_operations; }
    return reply;
}

void mumps_close(tess_context *ctx, mumps_instance *m)
{
    if (!m) { return; }
    pthread_mutex_lock(&one_at_a_time);
    BY_NUMBERS(m, close);
    pthread_mutex_unlock(&one_at_a_time);
    tess_host_release(ctx, m, 1, sizeof *m);
}

#else

/* A build without it: direct.c refuses before it calls anything else. */
bool mumps_is_here(void)
{
    return false;
}

const char *mumps_absence(void)
{
    return "";
}

bool mumps_dissect(int32_t n, int32_t *start, int32_t *neighbour, int32_t *order, int32_t *place)
{
    (void)n;
    (void)start;
    (void)neighbour;
    (void)order;
    (void)place;
    return false;
}

tess_status mumps_open(tess_context *ctx, tess_precision precision, bool is_complex, mumps_symmetry symmetry,
                       mumps_instance **out)
{
    (void)precision;
    (void)is_complex;
    (void)symmetry;
    *out = NULL;
    return tess_fail(ctx, TESS_INTERNAL, NULL, "this build has no MUMPS");
}

mumps_reply mumps_run(mumps_instance *m, mumps_step step, const mumps_arguments *arguments)
{
    (void)m;
    (void)step;
    (void)arguments;
    return (mumps_reply){.code = -1};
}

void mumps_close(tess_context *ctx, mumps_instance *m)
{
    (void)ctx;
    (void)m;
}

#endif
