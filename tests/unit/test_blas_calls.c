/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call BLAS take turns where it is OpenBLAS compiled without threads, as this program says of itself. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/blas_calls.h"
#include "support/test.h"

enum { THREADS = 4, ROUNDS = 2000 };

static atomic_int inside, together;

/* Found in place of OpenBLAS' function: the program's symbols come first. */
__attribute__((visibility("default"))) int openblas_get_parallel(void);
int openblas_get_parallel(void)
{
    return 0;
}

static void *stay_inside(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        const int threads = tess_blas_begin();

        if (atomic_fetch_add(&inside, 1) != 0) { atomic_fetch_add(&together, 1); }
        sched_yield();
        atomic_fetch_sub(&inside, 1);
        tess_blas_end(threads);
    }
    return NULL;
}

static void calls_of_a_serial_library_take_turns(void **state)
{
    pthread_t thread[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, stay_inside, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    assert_int_equal(together, 0);
    assert_int_equal(inside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_a_serial_library_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
