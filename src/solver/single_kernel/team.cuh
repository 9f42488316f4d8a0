/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the blocks of a single kernel work together: exchange of vectors, and a barrier that carries sums. Both use two
 * places in turn: when a block writes one place, it has seen all others arrive after they last read it.
 */
#ifndef TESS_SOLVER_SINGLE_KERNEL_TEAM_CUH
#define TESS_SOLVER_SINGLE_KERNEL_TEAM_CUH

#include "dense/trsv_messages.cuh"
#include "device/gpu/reduce.cuh"
#include "device/gpu/wave_sums.cuh"
#include "solver/single_kernel/args.cuh"

/* Iterations between two reads of the mailbox, which is far away. */
enum { SINGLE_MAILBOX_EVERY = 64 };

/* Copies of the loop's state, one for each wave that runs a scalar update with the sums. */
enum { SINGLE_STATES = 2 };

/*
 * Sums are added by groups of 32 threads, whatever a wave is: one wave, or half of one of 64. Exchanges reach less than
 * 32 lanes, so that they stay within a group. SINGLE_WAVES is the number of groups; lanes of the first ones share sum k
 * of N, which are LANES lanes from k * LANES on.
 */
enum { SINGLE_GROUP = 32, SINGLE_WAVES = SINGLE_THREADS / SINGLE_GROUP };

static_assert(GPU_WAVE % SINGLE_GROUP == 0, "a wave is whole groups");

template <int N>
struct sum_lanes {
    static constexpr int PARTS = N <= 2 ? N : N <= 4 ? 4 : 8, LANES = SINGLE_GROUP / PARTS;
};

static_assert((int)SINGLE_WAVES == (int)SINGLE_MAX_CLUSTER, "tables of sums have one width");
static_assert(SINGLE_MAX_SUMS <= 8, "lanes for each sum");

static_assert(SINGLE_MAX_PAIRS * SINGLE_MAX_READERS < SINGLE_WAVES, "a wave is left for the cancellation");

/*
 * Two sums as blocks of a grid exchange them. In each word the lowest bits of the sum are replaced by those of the
 * arrival's number. Places alternate by the parity of that number, over all launches, and no pair is left out in more
 * than two arrivals in a row. So the old contents of a place are of two or four arrivals earlier, or empty, and three
 * bits are enough to tell. A sum has 49 bits, more than its own rounding leaves.
 */
struct sum_message {
    static constexpr uint64_t NUMBER = 7;
    uint64_t word[2];

    __device__ bool is_current(unsigned arrival) const
    {
        return (((word[0] ^ arrival) | (word[1] ^ arrival)) & NUMBER) == 0;
    }

    __device__ double sum(int k) const
    {
        return __longlong_as_double((long long)(word[k] & ~NUMBER));
    }
};

__device__ static inline void post_sums(sum_message *to, double first, double second, unsigned arrival)
{
    const uint64_t number = arrival & sum_message::NUMBER;
    const uint64_t word[2] = {((uint64_t)__double_as_longlong(first) & ~sum_message::NUMBER) | number,
                              ((uint64_t)__double_as_longlong(second) & ~sum_message::NUMBER) | number};

    gpu_post(to->word, word);
}

/* The sums of N rows of a table that is SINGLE_WAVES wide, by one wave: the sum of row k is in its lanes. */
template <int N>
__device__ static inline double sum_table(const double *table)
{
    constexpr int LANES = sum_lanes<N>::LANES, TOGETHER = LANES < SINGLE_WAVES ? LANES : SINGLE_WAVES;
    const int lane = (int)threadIdx.x % SINGLE_GROUP, k = lane / LANES < N ? lane / LANES : N - 1;
    const double *row = table + k * SINGLE_WAVES;
    double total = 0.0;

#pragma unroll
    for (int w = 0; w < SINGLE_WAVES; w += TOGETHER) {
        total += row[w + lane % TOGETHER];
    }
    total = lanes_sum(total, TOGETHER);
    return total;
}

/* The block's sums of N values of each thread, by as many of the first waves as needed: sum k is in its lanes. All
   threads. */
template <int N>
__device__ static inline double block_totals(const double (&value)[N], int waves)
{
    constexpr int LANES = sum_lanes<N>::LANES;
    __shared__ double table[sum_lanes<N>::PARTS * SINGLE_WAVES];
    const int lane = (int)threadIdx.x % SINGLE_GROUP, wave = (int)threadIdx.x / SINGLE_GROUP;
    double padded[sum_lanes<N>::PARTS] = {};

#pragma unroll
    for (int k = 0; k < N; k++) {
        padded[k] = value[k];
    }
    const double own = wave_sums<SINGLE_GROUP / 2>(padded, lane);

    if (lane % LANES == 0) { table[lane / LANES * SINGLE_WAVES + wave] = own; }
    __syncthreads();
    return wave < waves ? sum_table<N>(table) : 0.0;
}

/* What a block computes from the sums: a scalar update; and, at the same time, another one that does not depend on it,
   if it ends an iteration. */
struct single_updates {
    tess_scalar_update scalar, beside;
    bool ends;

    /* Waves whose first threads run the updates. */
    __device__ int takers() const
    {
        return beside == TESS_SCALAR_NONE ? 1 : SINGLE_STATES;
    }
};

__device__ static inline single_updates one_update(tess_scalar_update scalar)
{
    return {scalar, TESS_SCALAR_NONE, false};
}

/* Data of a block, in shared memory. */
struct single_block_status {
    int64_t begun;   /* iterations before this launch */
    int failed;      /* a wait timed out */
    int cancel_seen; /* block 0: the host has requested a cancellation */
};

/* Shared by all teams. `shared` is the block's dynamic shared memory, `state` its own copies of the loop's state. */
struct single_team {
    const single_args &a;
    char *shared;
    tess_loop_state *state;
    single_block_status *block_status;
    int turn;

    __device__ double *sums() const
    {
        return (double *)(shared + a.at.sums);
    }

    /* By one thread: runs update number k with the sums of all blocks. */
    template <int N>
    __device__ __forceinline__ void finish(int k, tess_scalar_update scalar, const double (&dots)[N], bool cancelled)
    {
        tess_loop_state now = state[k];

#pragma unroll
        for (int i = 0; i < N; i++) {
            now.dots[i] = dots[i];
        }
        if (cancelled) { now.cancel = 1; }
        run_scalar_update(scalar, &now);
        if (block_status->failed) { loop_stop(&now, TESS_LOOP_STOPPED, TESS_REASON_BREAKDOWN); }
        state[k] = now;
        if (blockIdx.x == 0 && a.watched && now.iteration % SINGLE_MAILBOX_EVERY == 0) { exchange_mailbox(state + k); }
    }

    /* By the first thread of a wave; the first two waves run updates. */
    template <int N>
    __device__ void take(int wave, const single_updates &updates, const double (&dots)[N], bool cancelled)
    {
        if (wave == 0) {
            finish(0, updates.scalar, dots, cancelled);
        } else if (updates.ends) {
            finish(1, updates.beside, dots, cancelled);
        }
    }

    /* A state that ends no iterations keeps its number of iterations and writes no mailbox. */
    __device__ void exchange_mailbox(const tess_loop_state *now)
    {
        volatile loop_mailbox *mailbox = a.mailbox;

        if (now->iteration == block_status->begun) { return; }
        mailbox->residual_norm = now->scale * now->residual_norm;
        mailbox->iteration = now->iteration;
        if (mailbox->cancel) { block_status->cancel_seen = 1; }
    }

    /* After a sync, in all threads: RUNNING if it is so after each update. */
    __device__ int phase_after(const single_updates &updates) const
    {
        return updates.beside == TESS_SCALAR_NONE ? state[0].phase : state[0].phase | state[1].phase;
    }

    /* Combines both states in one. */
    __device__ tess_loop_state end_state() const
    {
        tess_loop_state end = state[0];

        if (state[1].iteration == block_status->begun) { return end; }
        end = state[1];
        end.alpha = state[0].alpha;
        end.beta = state[0].beta;
        end.rho = state[0].rho;
        end.curvature = state[0].curvature;
        if (end.phase == TESS_LOOP_RUNNING) {
            end.phase = state[0].phase;
            end.reason = state[0].reason;
        }
        return end;
    }
};

/*
 * Blocks all over the device. They communicate by messages (dense/trsv_messages.cuh) in device memory, with the numbers
 * of arrivals: a reader that finds the number has the value, so that no fences or flags are needed between writers and
 * readers.
 */
struct grid_team : single_team {
    using peeked = message<double>;

    /* Columns of a thread whose elements are in flight while sums are added; and columns at once after that. */
    static constexpr int AHEAD = 2, TOGETHER = 1;

    unsigned arrival; /* number of the last one */

    __device__ void begin()
    {
        arrival = (unsigned)a.flags[SINGLE_FLAG_LAST];
        turn = (int)((arrival + 1) & 1);
    }

    /* Where to find a column's element. */
    __device__ int32_t source(int32_t column) const
    {
        return column;
    }

    __device__ message<double> *place(int turn_of, int vector, int32_t i) const
    {
        return (message<double> *)a.exchange + ((int64_t)(2 * vector + turn_of) * a.plan.n + i);
    }

    /* Publishes element `row` of the block for the others, which read it after the next sync. */
    __device__ void publish(int vector, int32_t first, int row, double value)
    {
        post_message(place(turn, vector, first + row), value, arrival + 1);
    }

    /* Reads until the value is current; after a timeout it means nothing. */
    template <typename MESSAGE, typename CURRENT>
    __device__ void await(const MESSAGE *from, MESSAGE *seen, CURRENT current)
    {
        const uint64_t *failure = a.flags + SINGLE_FLAG_FAILED;
        gpu_wait wait;

        while (!current(*seen)) {
            if (!wait.goes_on(a.nanoseconds, failure)) {
                block_status->failed = 1;
                gpu_publish(a.flags + SINGLE_FLAG_FAILED, 1);
                break;
            }
            gpu_peek(from->word, seen->word);
        }
    }

    /* Of the last sync: reads without waiting; the same element, once it has arrived. */
    __device__ message<double> peek(int vector, int32_t from) const
    {
        message<double> seen;

        gpu_peek(place(turn ^ 1, vector, from)->word, seen.word);
        return seen;
    }

    __device__ double open(const message<double> *from, message<double> seen)
    {
        const unsigned number = arrival;

        await(from, &seen, [number](const message<double> &now) { return is_current(now, number); });
        return open_message(seen);
    }

    __device__ double fetch(int vector, int32_t from, const message<double> &peeked)
    {
        return open(place(turn ^ 1, vector, from), peeked);
    }

    /* Pair k of block b. There are several copies, so that not all blocks read one place. */
    __device__ sum_message *slot(int turn_of, int copy, int k, int b) const
    {
        return (sum_message *)a.slots + (((turn_of * SINGLE_COPIES + copy) * SINGLE_MESSAGES + k) * a.plan.blocks + b);
    }

    /* The cancellation that block 0 has seen. Not every launch has one, so it needs all bits of the number. */
    __device__ message<double> *cancel_slot(int turn_of, int copy) const
    {
        return (message<double> *)slot(turn_of, copy, SINGLE_MAX_PAIRS, 0);
    }

    /* Pair k of block b, as the last sync posted it. */
    __device__ sum_message collect(int k, int b)
    {
        const sum_message *from = slot(turn ^ 1, (int)blockIdx.x % SINGLE_COPIES, k, b);
        const unsigned number = arrival;
        sum_message seen;

        gpu_peek(from->word, seen.word);
        await(from, &seen, [number](const sum_message &now) { return now.is_current(number); });
        return seen;
    }

    __device__ double read_cancel()
    {
        const message<double> *from = cancel_slot(turn ^ 1, (int)blockIdx.x % SINGLE_COPIES);
        message<double> seen;

        gpu_peek(from->word, seen.word);
        return open(from, seen);
    }

    /* Posts sum k of the block, which the lanes of the first wave from k * LANES on hold, and, in block 0, its
       cancellation. By the first wave. */
    template <int N>
    __device__ void post(double total, int lane)
    {
        constexpr int LANES = sum_lanes<N>::LANES, PAIRS = (N + 1) / 2, EACH = sum_lanes<PAIRS>::LANES;
        const int pair = lane / EACH, second = 2 * pair + 1 < N ? 2 * pair + 1 : 2 * pair;
        const double one = GPU_SHUFFLE(total, 2 * pair * LANES, SINGLE_GROUP);
        const double other = GPU_SHUFFLE(total, second * LANES, SINGLE_GROUP);

        if (pair < PAIRS) {
#pragma unroll
            for (int copy = lane % EACH; copy < SINGLE_COPIES; copy += EACH) {
                post_sums(slot(turn, copy, pair, (int)blockIdx.x), one, other, arrival);
            }
        }
        if (a.watched && blockIdx.x == 0 && lane < SINGLE_COPIES) {
            post_message(cancel_slot(turn, lane), (double)block_status->cancel_seen, arrival);
        }
    }

    /* All threads call it with their shares of N sums; every block runs the same updates. `ahead` is called once the
       others' sums are read, and its loads are in flight meanwhile. Returns the phase. */
    template <int N, typename AHEAD>
    __device__ __forceinline__ int sync(double (&value)[N], const single_updates &updates, AHEAD ahead)
    {
        constexpr int PAIRS = (N + 1) / 2;
        const int lane = (int)threadIdx.x % SINGLE_GROUP, wave = (int)threadIdx.x / SINGLE_GROUP;
        const int waves = (a.plan.blocks + SINGLE_GROUP - 1) / SINGLE_GROUP; /* threads that read a pair */
        const int pair = wave / waves, b = wave % waves * SINGLE_GROUP + lane;
        const double total = block_totals(value, 1);
        double *table = sums(); /* two threads of every wave; the last thread reads only the cancellation */
        double part[2] = {0.0, 0.0};

        arrival += 1;
        if (wave == 0) { post<N>(total, lane); }
        turn ^= 1;
        if (pair < PAIRS && b < a.plan.blocks) {
            const sum_message seen = collect(pair, b);

            part[0] = seen.sum(0);
            part[1] = seen.sum(1);
        }
        if (a.watched && threadIdx.x == SINGLE_THREADS - 1) { part[1] = read_cancel(); }
        ahead();
        const double sum = wave_sums<SINGLE_GROUP / 2>(part, lane);

        if (lane % (SINGLE_GROUP / 2) == 0) { table[wave * 2 + lane / (SINGLE_GROUP / 2)] = sum; }
        __syncthreads();
        if (wave < updates.takers() && lane == 0) {
            double dots[N];

#pragma unroll
            for (int i = 0; i < N; i++) {
                dots[i] = 0.0;
#pragma unroll
                for (int w = 0; w < SINGLE_MAX_READERS; w++) {
                    if (w < waves) { dots[i] += table[(i / 2 * waves + w) * 2 + i % 2]; }
                }
            }
            take(wave, updates, dots, a.watched && table[SINGLE_WAVES * 2 - 1] != 0.0);
        }
        __syncthreads();
        return phase_after(updates);
    }

    /* All blocks have arrived equally often, unless a wait timed out: then the host restarts the numbers. */
    __device__ void end()
    {
        if (blockIdx.x == 0 && threadIdx.x == 0) { a.flags[SINGLE_FLAG_LAST] = arrival; }
    }
};

/* The blocks of one cluster, through their shared memory; a single block waits for no others. */
struct cluster_team : single_team {
    struct peeked {
        double value;
    };

    static constexpr int AHEAD = 3, TOGETHER = 2;

    __device__ void begin()
    {
        for (int i = (int)threadIdx.x; i < 2 * SINGLE_SLOT * SINGLE_MAX_CLUSTER; i += SINGLE_THREADS) {
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

    /* Row k of the current table: sum k of each block; k = SINGLE_MAX_SUMS: its cancellation. */
    __device__ double *slot(int k) const
    {
        return sums() + (turn * SINGLE_SLOT + k) * SINGLE_MAX_CLUSTER;
    }

    template <int N, typename AHEAD>
    __device__ __forceinline__ int sync(double (&value)[N], const single_updates &updates, AHEAD ahead)
    {
        constexpr int LANES = sum_lanes<N>::LANES;
        const int lane = (int)threadIdx.x % SINGLE_GROUP, wave = (int)threadIdx.x / SINGLE_GROUP;
        const bool together = a.plan.blocks > 1;
        double total = block_totals(value, updates.takers());

        if (together) {
            if (wave == 0) {
                if (lane / LANES < N) {
                    for (int b = lane % LANES; b < a.plan.blocks; b += LANES) {
                        gpu_cluster_store(slot(lane / LANES) + blockIdx.x, (unsigned)b, total);
                    }
                }
                if (a.watched && blockIdx.x == 0 && lane < a.plan.blocks) {
                    gpu_cluster_store(slot(SINGLE_MAX_SUMS), (unsigned)lane, (double)block_status->cancel_seen);
                }
            }
            gpu_cluster_barrier();
        }
        double *const heard = slot(0);

        turn ^= 1;
        ahead();
        if (wave < updates.takers()) {
            double dots[N];
            bool cancelled = false;

            if (together) {
                total = sum_table<N>(heard);
                cancelled = heard[SINGLE_MAX_SUMS * SINGLE_MAX_CLUSTER] != 0.0;
            } else if (a.watched && wave == (updates.ends ? 1 : 0)) { /* the one that the cancellation comes to */
                cancelled = block_status->cancel_seen != 0;
            }
#pragma unroll
            for (int k = 0; k < N; k++) {
                dots[k] = GPU_SHUFFLE(total, k * LANES, SINGLE_GROUP);
            }
            if (lane == 0) { take(wave, updates, dots, cancelled); }
        }
        __syncthreads();
        return phase_after(updates);
    }

    __device__ void end()
    {
        barrier(); /* others may still read this block's memory */
    }
};

#endif
