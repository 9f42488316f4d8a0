/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the blocks of a single kernel work together: exchange of vectors, and a barrier that carries sums. Both take turns between two
 * places: a block that writes one has seen all others arrive after they read it last.
 */
#ifndef TESS_SOLVER_SINGLE_KERNEL_TEAM_CUH
#define TESS_SOLVER_SINGLE_KERNEL_TEAM_CUH

#include "backend/gpu/reduce.cuh"
#include "backend/gpu/wave_sums.cuh"
#include "dense/trsv_letters.cuh"
#include "solver/single_kernel/args.cuh"

/* Iterations between two looks at the mailbox, which is far away. */
enum { SINGLE_MAIL_EVERY = 64 };

/* Waves of a block; lanes of the first wave that share sum k of N, which are k * LANES and those after it. */
enum { SINGLE_WAVES = SINGLE_THREADS / GPU_WAVE };

template <int N>
struct sum_lanes {
    static constexpr int PARTS = N <= 2 ? N : N <= 4 ? 4 : 8, LANES = GPU_WAVE / PARTS;
};

static_assert((int)SINGLE_WAVES == (int)SINGLE_MOST_CLUSTER, "tables of sums have one width");
static_assert(SINGLE_MOST_SUMS <= 8, "lanes for each sum");

/* Waves that hear of N sums of a grid's blocks: in groups of up to SINGLE_MOST_HEARERS, whose threads hear of EACH sums. */
template <int N>
struct heard_sums {
    static constexpr int EACH = N * SINGLE_MOST_HEARERS < SINGLE_WAVES ? 1 : SINGLE_MOST_HEARD;
    static constexpr int GROUPS = (N + EACH - 1) / EACH;

    static_assert(GROUPS * SINGLE_MOST_HEARERS < SINGLE_WAVES, "a wave is left for the wish");
};

/* The sums of N rows of a table that is SINGLE_WAVES wide, by one wave: that of row k is in its lanes. */
template <int N>
__device__ static inline double sum_table(const double *table)
{
    constexpr int LANES = sum_lanes<N>::LANES, TOGETHER = LANES < SINGLE_WAVES ? LANES : SINGLE_WAVES;
    const int lane = (int)threadIdx.x % GPU_WAVE, k = lane / LANES < N ? lane / LANES : N - 1;
    const double *row = table + k * SINGLE_WAVES;
    double total = 0.0;

#pragma unroll
    for (int w = 0; w < SINGLE_WAVES; w += TOGETHER) {
        total += row[w + lane % TOGETHER];
    }
#pragma unroll
    for (int distance = TOGETHER / 2; distance > 0; distance /= 2) {
        total += GPU_SHUFFLE_XOR(total, distance);
    }
    return total;
}

/* The block's sums of N values of each thread, by the first wave: sum k is in its lanes. All threads. */
template <int N>
__device__ static inline double block_totals(const double (&value)[N])
{
    constexpr int LANES = sum_lanes<N>::LANES;
    __shared__ double table[sum_lanes<N>::PARTS * SINGLE_WAVES];
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
    double padded[sum_lanes<N>::PARTS] = {};

#pragma unroll
    for (int k = 0; k < N; k++) {
        padded[k] = value[k];
    }
    const double own = wave_sums<GPU_WAVE / 2>(padded, lane);

    if (lane % LANES == 0) { table[lane / LANES * SINGLE_WAVES + wave] = own; }
    __syncthreads();
    return wave == 0 ? sum_table<N>(table) : 0.0;
}

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

    /* By one thread: takes the step with the sums of all blocks. */
    template <int N>
    __device__ void finish(tess_step step, const double (&dots)[N], bool wished)
    {
        tess_loop_state now = *state;

#pragma unroll
        for (int k = 0; k < N; k++) {
            now.dots[k] = dots[k];
        }
        if (wished) { now.cancel = 1; }
        run_step(step, &now);
        if (*failed) { step_stop(&now, TESS_LOOP_STOPPED, TESS_REASON_BREAKDOWN); }
        *state = now;
        if (blockIdx.x == 0 && a.watched && now.iteration % SINGLE_MAIL_EVERY == 0) { exchange_mail(); }
    }

    __device__ void exchange_mail()
    {
        volatile loop_mailbox *mailbox = a.mailbox;

        mailbox->residual_norm = state->scale * state->residual_norm;
        mailbox->iteration = state->iteration;
        if (mailbox->cancel) { wish = 1.0; }
    }
};

/*
 * Blocks all over the device, by letters (dense/trsv_letters.cuh) in device memory, numbered by arrivals: who finds the number has
 * the value, so that neither fences nor flags stand between those who write and those who read.
 */
struct grid_team : single_team {
    using peeked = letter<double>;

    /* Columns of a thread whose elements are on their way while sums are added up; and at once after them. */
    static constexpr int AHEAD = 2, TOGETHER = 1;

    unsigned arrival; /* number of the last one */

    __device__ void begin()
    {
        arrival = (unsigned)a.flags[SINGLE_FLAG_LAST];
    }

    /* Where a column's element is found. */
    __device__ int32_t source(int32_t column) const
    {
        return column;
    }

    __device__ letter<double> *place(int turn_of, int vector, int32_t i) const
    {
        return (letter<double> *)a.exchange + ((int64_t)(2 * vector + turn_of) * a.plan.n + i);
    }

    /* Element `row` of the block's own, for the others to fetch after the next sync. */
    __device__ void publish(int vector, int32_t first, int row, double value)
    {
        post_letter(place(turn, vector, first + row), value, arrival + 1);
    }

    /* Waits; what comes after too long a wait means nothing. */
    __device__ double await(const letter<double> *from, const letter<double> &peeked)
    {
        const uint64_t *failure = a.flags + SINGLE_FLAG_FAILED;
        letter<double> seen = peeked;
        gpu_wait wait;

        while (!is_current(seen, arrival)) {
            if (!wait.goes_on(a.nanoseconds, failure)) {
                *failed = 1;
                gpu_publish(a.flags + SINGLE_FLAG_FAILED, 1);
                break;
            }
            gpu_peek(from->word, seen.word);
        }
        return open_letter(seen);
    }

    /* Of the last sync: looks without waiting; the same element, once it is there. */
    __device__ letter<double> peek(int vector, int32_t from) const
    {
        letter<double> seen;

        gpu_peek(place(turn ^ 1, vector, from)->word, seen.word);
        return seen;
    }

    __device__ double fetch(int vector, int32_t from, const letter<double> &peeked)
    {
        return await(place(turn ^ 1, vector, from), peeked);
    }

    /* Sum k of block b; k = SINGLE_MOST_SUMS: the wish of block 0. Of several copies, so that not all look at one place. */
    __device__ letter<double> *slot(int turn_of, int copy, int k, int b) const
    {
        return (letter<double> *)a.slots + (((turn_of * SINGLE_COPIES + copy) * SINGLE_SLOT + k) * a.plan.blocks + b);
    }

    /* Sums k to k + EACH - 1 of block b, the first `count` of them, as the last sync posted them. */
    template <int EACH>
    __device__ void collect(int k, int count, int b, double (&sum)[EACH])
    {
        const letter<double> *from = slot(turn ^ 1, (int)blockIdx.x % SINGLE_COPIES, k, b);
        letter<double> seen[EACH];

#pragma unroll
        for (int j = 0; j < EACH; j++) {
            if (j < count) { gpu_peek(from[j * a.plan.blocks].word, seen[j].word); }
        }
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            if (j < count) { sum[j] = await(from + j * a.plan.blocks, seen[j]); }
        }
    }

    /* All threads, with their shares of N sums; the step is taken in every block alike. `ahead` is called once the others have
       been heard of, and what it peeks at is on its way meanwhile. Returns the phase. */
    template <int N, typename AHEAD>
    __device__ int sync(double (&value)[N], tess_step step, AHEAD ahead)
    {
        constexpr int LANES = sum_lanes<N>::LANES, EACH = heard_sums<N>::EACH;
        const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
        const int waves = (a.plan.blocks + GPU_WAVE - 1) / GPU_WAVE; /* of a group */
        const int first = wave / waves * EACH, b = wave % waves * GPU_WAVE + lane;
        const double total = block_totals(value);
        double *table = sums(); /* EACH of every wave; the last hears of the wish alone */
        double part[EACH] = {};

        arrival += 1;
        if (wave == 0 && lane / LANES < N) {
#pragma unroll
            for (int copy = lane % LANES; copy < SINGLE_COPIES; copy += LANES) {
                post_letter(slot(turn, copy, lane / LANES, (int)blockIdx.x), total, arrival);
            }
        }
        if (a.watched && blockIdx.x == 0 && wave == 0) {
            const double all = GPU_SHUFFLE(wish, 0, GPU_WAVE);

            if (lane < SINGLE_COPIES) { post_letter(slot(turn, lane, SINGLE_MOST_SUMS, 0), all, arrival); }
        }
        turn ^= 1;
        if (first < N && b < a.plan.blocks) { collect(first, N - first, b, part); }
        if (a.watched && threadIdx.x == SINGLE_THREADS - 1) { collect(SINGLE_MOST_SUMS, 1, 0, part); }
        ahead();
        const double sum = wave_sums<GPU_WAVE / 2>(part, lane);

        if (lane % (GPU_WAVE / EACH) == 0) { table[wave * EACH + lane / (GPU_WAVE / EACH)] = sum; }
        __syncthreads();
        if (threadIdx.x == 0) {
            double dots[N];

#pragma unroll
            for (int i = 0; i < N; i++) {
                dots[i] = 0.0;
#pragma unroll
                for (int w = 0; w < SINGLE_MOST_HEARERS; w++) {
                    if (w < waves) { dots[i] += table[(i / EACH * waves + w) * EACH + i % EACH]; }
                }
            }
            finish(step, dots, a.watched && table[(SINGLE_WAVES - 1) * EACH] != 0.0);
        }
        __syncthreads();
        return state->phase;
    }

    /* After a wait that was too long another block may have gone on by one. */
    __device__ void end()
    {
        if (blockIdx.x == 0 && threadIdx.x == 0) { a.flags[SINGLE_FLAG_LAST] = arrival + 1; }
    }
};

/* The blocks of one cluster, through their shared memory; one block alone has no others to wait for. */
struct cluster_team : single_team {
    struct peeked {
        double value;
    };

    static constexpr int AHEAD = 3, TOGETHER = 2;

    __device__ void begin()
    {
        for (int i = (int)threadIdx.x; i < 2 * SINGLE_SLOT * SINGLE_MOST_CLUSTER; i += SINGLE_THREADS) {
            sums()[i] = 0.0; /* of blocks that are not */
        }
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
        return (double *)(shared + a.at.windows) + (2 * vector + turn_of) * a.plan.most_rows + row;
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

    /* Of the last sync. */
    __device__ peeked peek(int vector, int32_t from) const
    {
        return {gpu_cluster_load(place(turn ^ 1, vector, from & 0xFFFF), (unsigned)from >> 16)};
    }

    __device__ double fetch(int, int32_t, const peeked &seen) const
    {
        return seen.value;
    }

    /* Row k of the present turn's table: sum k of each block; k = SINGLE_MOST_SUMS: its wish. */
    __device__ double *slot(int k) const
    {
        return sums() + (turn * SINGLE_SLOT + k) * SINGLE_MOST_CLUSTER;
    }

    template <int N, typename AHEAD>
    __device__ int sync(double (&value)[N], tess_step step, AHEAD ahead)
    {
        constexpr int LANES = sum_lanes<N>::LANES;
        const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
        const bool together = a.plan.blocks > 1;
        double total = block_totals(value);
        bool wished = wish != 0.0;

        if (together) {
            if (wave == 0) {
                if (lane / LANES < N) {
                    for (int b = lane % LANES; b < a.plan.blocks; b += LANES) {
                        gpu_cluster_store(slot(lane / LANES) + blockIdx.x, (unsigned)b, total);
                    }
                }
                if (a.watched && blockIdx.x == 0) {
                    const double all = GPU_SHUFFLE(wish, 0, GPU_WAVE);

                    if (lane < a.plan.blocks) { gpu_cluster_store(slot(SINGLE_MOST_SUMS), (unsigned)lane, all); }
                }
            }
            gpu_cluster_barrier();
        }
        double *const heard = slot(0);

        turn ^= 1;
        ahead();
        if (wave == 0) {
            double dots[N];

            if (together) {
                total = sum_table<N>(heard);
                wished = heard[SINGLE_MOST_SUMS * SINGLE_MOST_CLUSTER] != 0.0;
            }
#pragma unroll
            for (int k = 0; k < N; k++) {
                dots[k] = GPU_SHUFFLE(total, k * LANES, GPU_WAVE);
            }
            if (lane == 0) { finish(step, dots, wished); }
        }
        __syncthreads();
        return state->phase;
    }

    __device__ void end()
    {
        barrier(); /* others may still read this block's memory */
    }
};

#endif
