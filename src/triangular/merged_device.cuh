/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merged triangles on the GPU: one block of threads, or one cluster, processes record after record. Records are copied
 * to shared memory MERGED_SLOTS ahead; b and x are there for the whole solve, in a cluster each block's rows in its
 * own. After a group's last record all blocks wait for one another; by then the data that they need of the next
 * record's entries is in registers. Of several columns each has a block or a cluster of its own.
 */
#ifndef TESS_TRIANGULAR_MERGED_DEVICE_CUH
#define TESS_TRIANGULAR_MERGED_DEVICE_CUH

#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"
#include "triangular/leaf.h"
#include "triangular/merged.h"

enum {
    MERGED_THREADS = 512,
    MERGED_TEAMS = MERGED_THREADS / MERGED_LANES /* slices that a block processes at a time */
};

struct merged_task {
    const char *records;
    const merged_stream *streams;
    const int32_t *row;
    int local, slot_bytes, columns;
    triangle_args args;
    loop_predicate predicate;
};

static inline __host__ __device__ int64_t merged_slots_at(int64_t local)
{
    return (2 * local * static_cast<int64_t>(sizeof(double)) + MERGED_LINE - 1) / MERGED_LINE * MERGED_LINE;
}

/* How blocks access b and x, and wait for one another. HELD: entries of a lane whose b or x are requested together. */
template <bool CLUSTER>
struct merged_team;

template <>
struct merged_team<false> {
    typedef uint16_t index;
    enum { HELD = 4 };

    /* This block's number, and its column. */
    __device__ static inline unsigned block()
    {
        return 0;
    }
    __device__ static inline unsigned column()
    {
        return blockIdx.x;
    }
    __device__ static inline double value(const double *vectors, uint16_t at)
    {
        return vectors[at];
    }
    __device__ static inline void barrier()
    {
        __syncthreads();
    }
};

#if GPU_HAS_RESIDENT_GRIDS
template <>
struct merged_team<true> {
    typedef uint32_t index;
    enum { HELD = 8 };

    __device__ static inline unsigned block()
    {
        return blockIdx.x;
    }
    __device__ static inline unsigned column()
    {
        return blockIdx.y;
    }
    __device__ static inline double value(const double *vectors, uint32_t at)
    {
        return gpu_cluster_load(vectors + (at & 0xFFFFU), at >> 16);
    }
    __device__ static inline void barrier()
    {
        gpu_cluster_barrier();
    }
};
#endif

#if GPU_HAS_BULK_COPY
/* Records one after another, each in shared memory when it is needed. */
class merged_reader {
  public:
    __device__ merged_reader(const merged_task &task, const merged_stream &stream, char *slots, gpu_arrival *arrivals)
        : from_(task.records + stream.begin), slots_(slots), arrivals_(arrivals), slot_bytes_(task.slot_bytes)
    {
        if (threadIdx.x == 0) {
            for (uint32_t q = 0; q < MERGED_SLOTS; q++) {
                gpu_arrival_create(arrivals_ + q);
            }
            for (uint32_t q = 0; q < MERGED_SLOTS && q < stream.records; q++) {
                fetch(q, stream.bytes[q]);
            }
        }
        __syncthreads();
    }

    /* Record q, complete. */
    __device__ inline const char *await(uint32_t q)
    {
        gpu_arrival_wait(arrivals_ + q % MERGED_SLOTS, q / MERGED_SLOTS % 2);
        return slots_ + static_cast<int>(q % MERGED_SLOTS) * slot_bytes_;
    }

    /* After a barrier behind record q, with its `ahead`. */
    __device__ inline void proceed(uint32_t q, uint32_t ahead)
    {
        if (threadIdx.x == 0 && ahead > 0) { fetch(q, ahead); }
    }

    /* No copy is in flight to a block that has ended. */
    __device__ inline void drain(uint32_t records)
    {
        for (uint32_t q = 0; q < MERGED_SLOTS && q < records; q++) {
            (void)await(q);
        }
    }

  private:
    __device__ inline void fetch(uint32_t q, uint32_t bytes)
    {
        gpu_arrival *arrival = arrivals_ + q % MERGED_SLOTS;

        gpu_arrival_expect(arrival, bytes);
        gpu_bulk_copy(slots_ + static_cast<int>(q % MERGED_SLOTS) * slot_bytes_, from_, bytes, arrival);
        from_ += bytes;
    }

    const char *from_;
    char *slots_;
    gpu_arrival *arrivals_;
    int slot_bytes_;
};
#else
/* Records one after another, in device memory. */
class merged_reader {
  public:
    __device__ merged_reader(const merged_task &task, const merged_stream &stream, char *, gpu_arrival *)
        : from_(task.records + stream.begin)
    {
    }

    __device__ inline const char *await(uint32_t)
    {
        const char *record = from_;

        from_ += reinterpret_cast<const merged_record *>(record)->bytes;
        return record;
    }

    __device__ inline void proceed(uint32_t, uint32_t)
    {
    }

    __device__ inline void drain(uint32_t)
    {
    }

  private:
    const char *from_;
};
#endif

/* A team's slice: a lane's entries, the next ones in registers. */
template <typename S, typename TEAM>
struct merged_slice {
    const S *val;
    const typename TEAM::index *index;
    int more; /* entries from the first one not held */
    S held_val[TEAM::HELD];
    typename TEAM::index held_index[TEAM::HELD];

    __device__ inline void hold()
    {
        TESS_UNROLL
        for (int h = 0; h < TEAM::HELD; h++) {
            if (h < more) {
                held_val[h] = val[h * MERGED_LANES];
                held_index[h] = index[h * MERGED_LANES];
            }
        }
    }

    __device__ inline void open(const char *record, int slice)
    {
        const merged_record *head = reinterpret_cast<const merged_record *>(record);
        const uint16_t *offset = reinterpret_cast<const uint16_t *>(record + sizeof *head);
        const int lane = static_cast<int>(threadIdx.x) % MERGED_LANES;

        if (slice >= head->slices) { return; }
        const int begin = offset[slice];

        more = offset[slice + 1] - begin;
        val = reinterpret_cast<const S *>(record + head->val_at) + begin * MERGED_LANES + lane;
        index = reinterpret_cast<const typename TEAM::index *>(record + head->index_at) + begin * MERGED_LANES + lane;
        hold();
    }

    /* In the order of the entries. */
    __device__ inline double sum(const double *vectors)
    {
        double total = 0.0;

        for (;;) {
            double x[TEAM::HELD];

            TESS_UNROLL
            for (int h = 0; h < TEAM::HELD; h++) {
                if (h < more) { x[h] = TEAM::value(vectors, held_index[h]); }
            }
            TESS_UNROLL
            for (int h = 0; h < TEAM::HELD; h++) {
                if (h < more) { total += tess::decode<double>(held_val[h]) * x[h]; }
            }
            more -= TEAM::HELD;
            if (more <= 0) { return total; }
            val += TEAM::HELD * MERGED_LANES;
            index += TEAM::HELD * MERGED_LANES;
            hold();
        }
    }
};

/* The slice's rows, with x among the block's values; all lanes of the team call it. */
template <typename S, typename TEAM>
__device__ static inline void solve_slice(const char *record, int slice, merged_slice<S, TEAM> *held, double *vectors)
{
    const merged_record *head = reinterpret_cast<const merged_record *>(record);
    const int lane = static_cast<int>(threadIdx.x) % MERGED_LANES, width = 1 << head->shift;
    const int row = (slice * MERGED_LANES + lane) >> head->shift;
    double sum = held->sum(vectors);

    sum = lanes_sum_down(sum, width);
    if ((lane & (width - 1)) == 0 && row < static_cast<int>(head->rows)) { vectors[head->first + row] = sum; }
}

/* Copies b to shared memory, or x from there. */
__device__ static inline void load_right_side(const merged_task &task, unsigned column, const int32_t *row, int rows,
                                              double *vectors)
{
    const double *b = task.args.b + column;

#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < rows; i += MERGED_THREADS) {
        vectors[task.local + i] = b[static_cast<int64_t>(row[i]) * task.columns];
    }
}

__device__ static inline void store_solution(const merged_task &task, unsigned column, const int32_t *row, int rows,
                                             const double *vectors)
{
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < rows; i += MERGED_THREADS) {
        const int64_t to = static_cast<int64_t>(row[i]) * task.columns + column;

        task.args.x[to] = vectors[i];
        if (task.args.scaled) { task.args.scaled[to] = task.args.scale[row[i]] * vectors[i]; }
    }
}

template <typename S, bool CLUSTER>
__global__ static void GPU_LAUNCH_BOUNDS(MERGED_THREADS, 1) solve_merged(const merged_task task)
{
    typedef merged_team<CLUSTER> team;
    extern __shared__ __align__(MERGED_LINE) char merged_workspace[];
    __shared__ gpu_arrival arrivals[MERGED_SLOTS];
    double *vectors = reinterpret_cast<double *>(merged_workspace);
    const int own = static_cast<int>(threadIdx.x) / MERGED_LANES;
    const int32_t *row = task.row + static_cast<int64_t>(team::block()) * task.local;
    tess_scalars scalars;

    const merged_stream stream = task.streams[team::block()]; /* no kernel of a loop writes this or the records */
    merged_reader reader(task, stream, merged_workspace + merged_slots_at(task.local), arrivals);
    merged_slice<S, team> held;

    if (!loop_enter<true>(task.predicate, false, &scalars)) {
        reader.drain(stream.records);
        return;
    }
    const char *record = reader.await(0);

    held.open(record, own);
    load_right_side(task, team::column(), row, static_cast<int>(stream.rows), vectors);
    team::barrier();
    for (uint32_t q = 0; q < stream.records; q++) {
        const merged_record head = *reinterpret_cast<const merged_record *>(record);

        if (own < head.slices) { solve_slice(record, own, &held, vectors); }
        for (int slice = own + MERGED_TEAMS; slice < head.slices; slice += MERGED_TEAMS) {
            held.open(record, slice);
            solve_slice(record, slice, &held, vectors);
        }
        if (q + 1 < stream.records) {
            record = reader.await(q + 1);
            held.open(record, own);
        }
        if (head.last) {
            team::barrier();
        } else {
            __syncthreads();
        }
        reader.proceed(q, head.ahead);
    }
    store_solution(task, team::column(), row, static_cast<int>(stream.rows), vectors);
}

#endif
