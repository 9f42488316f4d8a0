/* SPDX-License-Identifier: Apache-2.0 */
/* A block of a single kernel: its rows, its vectors, its team, and the begin and end of a cycle. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_BLOCK_CUH
#define TESS_SOLVER_SINGLE_KERNEL_BLOCK_CUH

#include "solver/single_kernel/rows.cuh"
#include "solver/single_kernel/team.cuh"

template <typename ROWS, typename TEAM>
struct single_block {
    const single_args &a;
    TEAM team;
    ROWS rows;
    int first, count; /* own rows */
    int columns, own; /* columns, and the place of the first row's column among them */
    int32_t *source;  /* where the elements at the columns are fetched from */

    /* Element i at own rows or columns: each thread has its own elements, the same ones in each of these loops. */
    template <typename EACH>
    __device__ void each_row(EACH each) const
    {
        for (int i = (int)threadIdx.x; i < count; i += SINGLE_THREADS) {
            each(i);
        }
    }

    /* each(l, i): i is the row of column l, or -1 if that row is another block's. */
    template <typename EACH>
    __device__ void each_column(EACH each) const
    {
        for (int l = (int)threadIdx.x; l < columns; l += SINGLE_THREADS) {
            const int i = l - own;

            each(l, i >= 0 && i < count ? i : -1);
        }
    }

    /* A vector at all columns; at own rows. */
    __device__ double *copy(int k) const
    {
        return (double *)(team.shared + a.at.copies) + k * a.plan.most_columns;
    }

    __device__ double *vector(int k) const
    {
        return (double *)(team.shared + a.at.vectors) + k * a.plan.most_rows;
    }

    /* An array of the whole vector, at the block's columns or rows. */
    __device__ void gather(const double *from, double *to) const
    {
        const int32_t *column = a.plan.column + a.plan.column_begin[blockIdx.x];

        each_column([&](int l, int) { to[l] = from[column[l]]; });
    }

    __device__ void load(const double *from, double *to) const
    {
        each_row([&](int i) { to[i] = from[first + i]; });
    }

    __device__ void fill_columns(double *to, double value) const
    {
        each_column([&](int l, int) { to[l] = value; });
    }

    __device__ void fill_rows(double *to, double value) const
    {
        each_row([&](int i) { to[i] = value; });
    }

    __device__ void load_scale(double *to) const
    {
        if (a.scale) {
            load(a.scale, to);
        } else {
            fill_rows(to, 1.0);
        }
    }

    template <typename DONE>
    __device__ void multiply(const double *x, DONE done) const
    {
        multiply_rows(rows, x, done);
    }

    /* The vector of product 0 or 1 of the iteration, the next, as each thread has written it. The caller has a barrier
       in between. */
    __device__ void mark(const double *x, int product) const
    {
        if constexpr (ROWS::LOOKS_AT_X) { rows.look(a, x, columns, product); }
    }

    __device__ void publish(int vector, int i, double value)
    {
        team.publish(vector, first, i, value);
    }

    __device__ double fetch(int vector, int l)
    {
        return team.fetch(vector, source[l], team.peek(vector, source[l]));
    }

    /*
     * After an exchange, at all columns. `vector` was published: own(i) is the published element of own row i, which
     * each thread has; others are fetched, those of each thread's first columns while the sums were added. sync:
     * each(l, i, element).
     */
    struct halo {
        typename TEAM::peeked first[TEAM::AHEAD];
    };

    template <int N>
    __device__ int sync(double (&sums)[N], tess_scalar_update scalar)
    {
        return team.sync(sums, one_update(scalar), [] {});
    }

    template <int N>
    __device__ int sync_ahead(double (&sums)[N], const single_updates &updates, int vector, halo *ahead)
    {
        return team.sync(sums, updates, [&] {
#pragma unroll
            for (int j = 0; j < TEAM::AHEAD; j++) {
                const int l = (int)threadIdx.x + j * SINGLE_THREADS;

                if (l < columns && !is_own(l)) { ahead->first[j] = team.peek(vector, source[l]); }
            }
        });
    }

    __device__ bool is_own(int l) const
    {
        return l >= own && l - own < count;
    }

    template <typename OWN, typename EACH>
    __device__ void each_exchanged(int vector, const halo &ahead, OWN of_own, EACH each)
    {
#pragma unroll
        for (int j = 0; j < TEAM::AHEAD; j++) {
            const int l = (int)threadIdx.x + j * SINGLE_THREADS;

            if (l >= columns) { break; }
            if (is_own(l)) {
                each(l, l - own, of_own(l - own));
            } else {
                each(l, -1, team.fetch(vector, source[l], ahead.first[j]));
            }
        }
        for (int at = TEAM::AHEAD * SINGLE_THREADS; at < columns; at += TEAM::TOGETHER * SINGLE_THREADS) {
            typename TEAM::peeked next[TEAM::TOGETHER];

#pragma unroll
            for (int j = 0; j < TEAM::TOGETHER; j++) {
                const int l = at + (int)threadIdx.x + j * SINGLE_THREADS;

                if (l < columns && !is_own(l)) { next[j] = team.peek(vector, source[l]); }
            }
#pragma unroll
            for (int j = 0; j < TEAM::TOGETHER; j++) {
                const int l = at + (int)threadIdx.x + j * SINGLE_THREADS;

                if (l >= columns) { break; }
                if (is_own(l)) {
                    each(l, l - own, of_own(l - own));
                } else {
                    each(l, -1, team.fetch(vector, source[l], next[j]));
                }
            }
        }
    }

    /* If there is nothing to do. */
    __device__ void leave() const
    {
        each_row([&](int i) { a.d[first + i] = 0.0; });
    }

    /* Copies d back, and, in the first block, the state. All threads. */
    __device__ void end(const double *d)
    {
        each_row([&](int i) { a.d[first + i] = d[i]; });
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            tess_loop_state final_state = team.end_state();

            final_state.history = a.state->history;
            *a.state = final_state;
            a.mailbox->end = final_state;
            a.mailbox->residual_norm = final_state.scale * final_state.residual_norm;
            a.mailbox->iteration = final_state.iteration;
            a.mailbox->phase = final_state.phase;
        }
        if constexpr (ROWS::LOOKS_AT_X) { rows.save(a, first, own); }
        if (threadIdx.x == 0 && team.block_status->failed) { a.mailbox->failed = 1; }
        team.end();
    }
};

/* The block's own copies of the state; one block writes the history. The caller has a barrier before they are read. */
__device__ static inline void copy_state(const single_args &a, tess_loop_state *state,
                                         single_block_status *block_status)
{
    if (threadIdx.x > 0) { return; }
    for (int k = 0; k < SINGLE_STATES; k++) {
        state[k] = *a.state;
        if (blockIdx.x > 0) { state[k].history = NULL; }
    }
    *block_status = {a.state->iteration, 0, 0};
}

/* Copies rows and state to shared memory. No thread has passed a barrier of its team when another block's memory is
   accessed. */
template <typename ROWS, typename TEAM>
__device__ static inline single_block<ROWS, TEAM> open_block(const single_args &a, char *shared, tess_loop_state *state,
                                                             single_block_status *block_status)
{
    const int b = (int)blockIdx.x, first = a.plan.row_begin[b];
    single_block<ROWS, TEAM> block = {a,
                                      {{a, shared, state, block_status, 0}},
                                      ROWS::bring(a, shared),
                                      first,
                                      a.plan.row_begin[b + 1] - first,
                                      a.plan.column_begin[b + 1] - a.plan.column_begin[b],
                                      a.plan.own[b],
                                      (int32_t *)(shared + a.at.columns)};
    const int32_t *column = a.plan.column + a.plan.column_begin[b];

    copy_state(a, state, block_status);
    block.each_column([&](int l, int) { block.source[l] = block.team.source(column[l]); });
    block.team.begin();
    return block;
}

/* A kernel's static variables in shared memory, and its block. */
#define SINGLE_OPEN_BLOCK(ROWS, TEAM, a)                    \
    extern __shared__ double2 single_shared[];              \
    __shared__ tess_loop_state single_state[SINGLE_STATES]; \
    __shared__ single_block_status single_news_of_block;    \
    auto block = open_block<ROWS, TEAM>(a, (char *)single_shared, single_state, &single_news_of_block)

#endif
