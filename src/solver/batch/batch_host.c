/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on the host: each thread solves systems of its own, with vectors of its own. */
#include <omp.h>

#include "base/deadline.h"
#include "base/loop_state.h"
#include "device/host/host.h"
#include "solver/batch/batch.h"

struct tess_residual_sums;

#define BATCH_FN static inline
#define BATCH_FIRST 0
#define BATCH_STEP 1
#define BATCH_LEADS true
#define BATCH_BARRIER() ((void)0)
#define BATCH_HAS_OWN true

enum { LANES = 8 };
/* Iterations between two looks at the clock. */
enum { LOOK_ITERATIONS = 16 };

HOST_CLONES static double batch_dot(int32_t n, const double *x, const double *y)
{
    double lane[LANES] = {0.0};
    int32_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            lane[l] += x[i + l] * y[i + l];
        }
    }
    for (int l = 0; i < n; i++, l++) {
        lane[l] += x[i] * y[i];
    }
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        for (int l = 0; l < distance; l++) {
            lane[l] += lane[l + distance];
        }
    }
    return lane[0];
}

static inline void batch_sum(tess_loop_state *state, double first, double second)
{
    state->dots[0] = first;
    state->dots[1] = second;
}

static inline void batch_project(int32_t n, const double *basis, int32_t columns, const double *v, double *out)
{
    for (int32_t k = 0; k < columns; k++) {
        out[k] = batch_dot(n, basis + (int64_t)k * n, v);
    }
    out[columns] = batch_dot(n, v, v);
}

HOST_CLONES static void batch_remove(int32_t n, const double *basis, int32_t columns, const double *c, double *y)
{
    int32_t k = 0;

    for (; k + 4 <= columns; k += 4) { /* y is read and written a quarter as often */
        const double *v = basis + (int64_t)k * n, *v1 = v + n, *v2 = v1 + n, *v3 = v2 + n;

        for (int32_t i = 0; i < n; i++) {
            y[i] = (((y[i] - c[k] * v[i]) - c[k + 1] * v1[i]) - c[k + 2] * v2[i]) - c[k + 3] * v3[i];
        }
    }
    for (; k < columns; k++) {
        for (int32_t i = 0; i < n; i++) {
            y[i] -= c[k] * basis[(int64_t)k * n + i];
        }
    }
}

static inline void batch_join(struct tess_residual_sums *sums)
{
    (void)sums; /* of one thread */
}

/* A thread. */
typedef struct batch_thread {
    const tess_context *ctx;
    int64_t looks;
} batch_thread;

static inline bool batch_is_stopped(void *team, tess_loop_state *state)
{
    batch_thread *thread = team;

    thread->looks += 1;
    if (thread->looks % LOOK_ITERATIONS != 0 || !tess_deadline_passed(thread->ctx)) { return false; }
    state->reason = (int32_t)tess_deadline_reason(thread->ctx);
    return true;
}

#include "solver/batch/batch_body.h"

/* Vectors begin at multiples of so many values: those of two threads share no cache line. */
enum { LINE = 8 };

static int64_t whole_lines(int64_t values)
{
    return (values + LINE - 1) / LINE * LINE;
}

static int64_t stride_of(const batch_task *task)
{
    return whole_lines(task->n);
}

/* Every system that no other thread has taken. */
static void solve_systems(tess_context *ctx, const batch_task *task, double *values, batch_outcome *outcomes)
{
    tess_loop_state state = {.phase = TESS_LOOP_STOPPED};
    batch_thread thread = {ctx, 0};
    batch_small small = {.last = 0};
    batch_work w = {.state = &state, .small = &small, .team = &thread};

    for (int i = 0; i < BATCH_VECTORS; i++) {
        w.vector[i] = values + i * stride_of(task);
    }
    w.factors = values + BATCH_VECTORS * stride_of(task);
    w.basis = w.factors + task->factor_values;
#pragma omp for schedule(dynamic, 1)
    for (int64_t s = 0; s < task->systems; s++) {
        if (tess_deadline_passed(ctx)) {
            outcomes[s].reason = tess_deadline_reason(ctx);
        } else {
            batch_solve_one(task, s, &w, &outcomes[s]);
        }
    }
}

static tess_status solve(tess_context *ctx, const batch_task *task, batch_outcome *outcomes)
{
    const int64_t work = task->systems * ((int64_t)task->n + task->nnz);
    const int threads = task->systems > 1 ? host_threads_for(ctx, work) : 1;
    const int64_t own = BATCH_VECTORS * stride_of(task) + whole_lines(batch_own_values(task));
    double *values = NULL;
    tess_status status = tess_host_allocate(ctx, threads * own, sizeof *values, (void **)&values);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel num_threads(threads)
    solve_systems(ctx, task, values + omp_get_thread_num() * own, outcomes);
    tess_host_release(ctx, values, threads * own, sizeof *values);
    return status;
}

const batch_ops batch_host_ops = {.solve = solve};
