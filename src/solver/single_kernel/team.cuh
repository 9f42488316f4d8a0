/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the blocks of a single kernel work together: exchange of vectors, and a barrier that carries sums. Arrivals and sums take turns
 * between two places: a block that writes one has seen all others arrive after they read it last.
 */
#ifndef TESS_SOLVER_SINGLE_KERNEL_TEAM_CUH
#define TESS_SOLVER_SINGLE_KERNEL_TEAM_CUH

#include "backend/gpu/reduce.cuh"
#include "backend/gpu/wait.cuh"
#include "solver/single_kernel/args.cuh"

/* Iterations between two looks at the mailbox, which is far away. */
enum { SINGLE_MAIL_EVERY = 64 };

/* What all teams have. `shared` is the block's dynamic shared memory, `state` its own copy of the loop's. */
struct single_team {
    const single_args &a;
    char *shared;
    tess_loop_state *state;
    int *failed;
    int turn;
    double wish; /* block 0: not 0 once the host wishes to cancel */

    __device__ double *sums() const
    {
        return (double *)(shared + a.at.sums);
    }

    /* By the first wave: adds up what all blocks left, in their order, and takes the step. `sum(k, b)` is block b's. */
    template <int N, typename SUM>
    __device__ void finish(tess_step step, bool wished, SUM sum)
    {
        for (int k = 0; k < N; k++) {
            double total = 0.0;

            for (int b = (int)threadIdx.x; b < a.plan.blocks; b += GPU_WAVE) {
                total += sum(k, b);
            }
            for (int distance = GPU_WAVE / 2; distance > 0; distance /= 2) {
                total += GPU_SHUFFLE_XOR(total, distance);
            }
            if (threadIdx.x == 0) { state->dots[k] = total; }
        }
        if (threadIdx.x > 0) { return; }
        if (wished) { state->cancel = 1; }
        run_step(step, state);
        if (*failed) { step_stop(state, TESS_LOOP_STOPPED, TESS_REASON_BREAKDOWN); }
        if (blockIdx.x == 0 && a.watched && state->iteration % SINGLE_MAIL_EVERY == 0) { exchange_mail(); }
    }

    __device__ void exchange_mail()
    {
        volatile loop_mailbox *mailbox = a.mailbox;

        mailbox->residual_norm = state->scale * state->residual_norm;
        mailbox->iteration = state->iteration;
        if (mailbox->cancel) { wish = 1.0; }
    }
};

/* Blocks all over the device, through device memory. */
struct grid_team : single_team {
    uint64_t arrival; /* number of the last one */

    __device__ void begin()
    {
        arrival = a.flags[a.plan.blocks + SINGLE_FLAG_LAST];
    }

    /* Where a column's element is found. */
    __device__ int32_t source(int32_t column) const
    {
        return column;
    }

    __device__ double *place(int turn_of, int vector, int32_t i) const
    {
        return a.exchange + ((int64_t)(2 * turn_of + vector) * a.plan.n + i);
    }

    /* Element `row` of the block's own, for the others to fetch after the next sync. */
    __device__ void publish(int vector, int32_t first, int row, double value)
    {
        const uint64_t word[1] = {(uint64_t)__double_as_longlong(value)};

        gpu_post((uint64_t *)place(turn, vector, first + row), word);
    }

    __device__ double fetch(int vector, int32_t from) const
    {
        uint64_t word[1];

        gpu_peek((const uint64_t *)place(turn ^ 1, vector, from), word);
        return __longlong_as_double((long long)word[0]);
    }

    /* False: too long. */
    __device__ bool await(const uint64_t *flag) const
    {
        const uint64_t *failure = a.flags + a.plan.blocks + SINGLE_FLAG_FAILED;
        gpu_wait wait;

        while (gpu_observe(flag) < arrival) {
            if (!wait.goes_on(a.nanoseconds, failure)) { return false; }
        }
        return true;
    }

    /* Block b's sums to this block's shared memory, by thread b. */
    __device__ void collect(int b, bool *wished)
    {
        const uint64_t *slot = (const uint64_t *)(a.slots + (int64_t)(turn * a.plan.blocks + b) * SINGLE_SLOT);
        uint64_t low[2], high[2];

        if (!await(a.flags + b)) {
            *failed = 1;
            gpu_publish(a.flags + a.plan.blocks + SINGLE_FLAG_FAILED, 1);
        }
        gpu_peek(slot, low);
        gpu_peek(slot + 2, high);
        sums()[b] = __longlong_as_double((long long)low[0]);
        sums()[a.plan.blocks + b] = __longlong_as_double((long long)low[1]);
        sums()[2 * a.plan.blocks + b] = __longlong_as_double((long long)high[0]);
        *wished = b == 0 && high[1] != 0;
    }

    /* The last word of the slot is block 0's wish: any bits but 0. */
    template <int N>
    __device__ void arrive(const double (&value)[N])
    {
        uint64_t *slot = (uint64_t *)(a.slots + (int64_t)(turn * a.plan.blocks + (int)blockIdx.x) * SINGLE_SLOT);
        uint64_t word[SINGLE_SLOT] = {0, 0, 0, wish != 0.0};

        for (int k = 0; k < N; k++) {
            word[k] = (uint64_t)__double_as_longlong(value[k]);
        }
        gpu_post(slot, {word[0], word[1]});
        gpu_post(slot + 2, {word[2], word[3]});
        gpu_publish(a.flags + blockIdx.x, arrival);
    }

    /* All threads, with their shares of N sums; the step is taken in every block alike. Returns the phase. */
    template <int N>
    __device__ int sync(double (&value)[N], tess_step step)
    {
        bool wished = false;

        block_sum<double, N, SINGLE_THREADS>(value);
        arrival += 1;
        if (threadIdx.x == 0) { arrive(value); }
        if ((int)threadIdx.x < a.plan.blocks) { collect((int)threadIdx.x, &wished); }
        __syncthreads();
        if (threadIdx.x < GPU_WAVE) {
            const double *left = sums();
            const int blocks = a.plan.blocks;

            finish<N>(step, wished, [left, blocks](int k, int b) { return left[k * blocks + b]; });
        }
        __syncthreads();
        turn ^= 1;
        return state->phase;
    }

    __device__ void end()
    {
        if (blockIdx.x == 0 && threadIdx.x == 0) { a.flags[a.plan.blocks + SINGLE_FLAG_LAST] = arrival; }
    }
};

/* The blocks of one cluster, through their shared memory; one block alone has no others to wait for. */
struct cluster_team : single_team {
    __device__ void begin()
    {
        barrier(); /* no block writes to another's memory before it runs */
    }

    __device__ void barrier() const
    {
        if (a.plan.blocks > 1) {
            gpu_cluster_barrier();
        } else {
            __syncthreads();
        }
    }

    __device__ double *place(int turn_of, int vector, int row) const
    {
        return (double *)(shared + a.at.windows) + (2 * turn_of + vector) * a.plan.most_rows + row;
    }

    __device__ int32_t source(int32_t column) const
    {
        int rank = 0;

        while (a.plan.row_begin[rank + 1] <= column) {
            rank += 1;
        }
        return rank << 16 | (column - a.plan.row_begin[rank]);
    }

    __device__ void publish(int vector, int32_t, int row, double value)
    {
        *place(turn, vector, row) = value;
    }

    __device__ double fetch(int vector, int32_t from) const
    {
        return gpu_cluster_load(place(turn ^ 1, vector, from & 0xFFFF), (unsigned)from >> 16);
    }

    __device__ double *slot(int b) const
    {
        return sums() + (turn * SINGLE_MOST_CLUSTER + b) * SINGLE_SLOT;
    }

    template <int N>
    __device__ int sync(double (&value)[N], tess_step step)
    {
        block_sum<double, N, SINGLE_THREADS>(value);
        if (threadIdx.x < GPU_WAVE) {
            const double own_wish = GPU_SHUFFLE(wish, 0, GPU_WAVE);

            for (int k = 0; k < N; k++) {
                const double sum = GPU_SHUFFLE(value[k], 0, GPU_WAVE);

                if ((int)threadIdx.x < a.plan.blocks) {
                    gpu_cluster_store(slot((int)blockIdx.x) + k, threadIdx.x, sum);
                }
            }
            if ((int)threadIdx.x < a.plan.blocks) {
                gpu_cluster_store(slot((int)blockIdx.x) + SINGLE_MOST_SUMS, threadIdx.x, own_wish);
            }
        }
        barrier();
        if (threadIdx.x < GPU_WAVE) {
            const double *left = slot(0);

            finish<N>(step, left[SINGLE_MOST_SUMS] != 0.0, [left](int k, int b) { return left[b * SINGLE_SLOT + k]; });
        }
        __syncthreads();
        turn ^= 1;
        return state->phase;
    }

    __device__ void end()
    {
        barrier(); /* others may still read this block's memory */
    }
};

#endif
