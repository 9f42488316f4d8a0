/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/blas_calls.h"

#include <dlfcn.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <string.h>

/* What openblas_get_parallel returns; with threads of its own (1) OPENBLAS_NUM_THREADS says how many. */
enum { OPENBLAS_SERIAL = 0, OPENBLAS_OPENMP = 2, NOT_OPENBLAS = -1 };

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static int kind = NOT_OPENBLAS;
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
    pthread_mutex_lock(&turns);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&turns);
}

static void look(void)
{
    void *const address = dlsym(RTLD_DEFAULT, "openblas_get_parallel");
    int (*get_parallel)(void) = NULL;

    memcpy(&get_parallel, &address, sizeof address); /* POSIX: a function's address comes as that of an object */
    if (get_parallel) { kind = get_parallel(); }
    (void)pthread_atfork(before_fork, after_fork, after_fork); /* a child has no thread that could end a turn */
}

int tess_blas_begin(void)
{
    int threads = 0;

    pthread_once(&looked, look);
    if (kind == OPENBLAS_SERIAL) { pthread_mutex_lock(&turns); }
#ifdef _OPENMP
    if (kind == OPENBLAS_OPENMP) {
        threads = omp_get_max_threads();
        omp_set_num_threads(1); /* of this thread alone */
    }
#endif
    return threads;
}

bool tess_blas_is_open(void)
{
    pthread_once(&looked, look);
    return kind != NOT_OPENBLAS;
}

void tess_blas_end(int threads)
{
#ifdef _OPENMP
    if (threads > 0) { omp_set_num_threads(threads); }
#else
    (void)threads;
#endif
    if (kind == OPENBLAS_SERIAL) { pthread_mutex_unlock(&turns); }
}
