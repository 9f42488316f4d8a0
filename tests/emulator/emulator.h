/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU emulated on the host, for tests where there is none. Each thread of a block is a fiber; the fibers of a block
 * share one thread of the host, so that a block runs in an order that repeats itself, and blocks that are resident
 * together run beside each other. Streams are threads with queues: launches return before their kernels have run, as on
 * a device.
 *
 * What it shows: results of kernels, barriers that not all threads reach, missing ones (by running threads backward as
 * well), waits for other blocks, host code that follows a pointer of the device while no stream works, and under
 * AddressSanitizer every access beyond an allocation. What it does not: speed, and what depends on how memory orders
 * the accesses of a real device.
 */
#ifndef TESS_TESTS_EMULATOR_EMULATOR_H
#define TESS_TESTS_EMULATOR_EMULATOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <tuple>
#include <type_traits>

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

struct emulator_queue; /* a stream */

namespace emulator {

enum { WAVE = 32 };

/* The emulated device's limits. */
enum {
    MAX_THREADS = 1024,
    MULTIPROCESSORS = 8,
    MAX_CLUSTER = 4,
    SHARED_PER_BLOCK = 232448,
    SHARED_PER_MULTIPROCESSOR = 233472
};

static constexpr size_t MEMORY = size_t{1} << 31; /* bytes; a larger array has no space */

/* Where the running thread is. */
struct place {
    unsigned thread, block[2], threads, blocks[2];
};
extern __thread place here;

struct index {
    unsigned x, y, z;
};
static inline index thread_index()
{
    return {here.thread, 0, 0};
}
static inline index block_index()
{
    return {here.block[0], here.block[1], 0};
}
static inline dim3 block_size()
{
    return dim3(here.threads);
}
static inline dim3 grid_size()
{
    return dim3(here.blocks[0], here.blocks[1]);
}

/* For the running thread. Barriers count the threads that have not returned. */
void sync_block();
int count_in_block(bool predicate);
void sync_cluster();
void wait_for_previous(); /* kernels run one after another: it is only noted */
void yield();             /* to the other threads of the block, and then to other blocks */
/* The block's dynamic shared memory, and the same place of it in another block of the cluster. */
void *dynamic_shared();
void *shared_of_block(const void *own, unsigned rank);
/* Gives the wave a value of at most 16 bytes; those of all lanes, 16 bytes apart, until the next but one exchange. */
const unsigned char *exchange(const void *value, size_t bytes);
/* A read of a word that another thread may write. The second read in a row of the same word first yields to the other
   threads. */
void look(const void *at);
int64_t nanoseconds();

enum class residence { none, grid, cluster };

struct launch_shape {
    dim3 grid;
    unsigned block;
    size_t shared;
    emulator_queue *stream;
    residence together;
    unsigned cluster = 0;    /* the number of this one, if they run one after another: blockIdx.y */
    bool overlapped = false; /* on a device it may begin before the one before has ended: it has to wait for that */
};

struct kernel_launch {
    launch_shape shape;
    std::function<void()> body; /* of each thread */
};

void enqueue_kernel(const launch_shape &shape, std::function<void()> body);
void run_kernel(const kernel_launch &launch); /* to its end */

/* The result of translating KERNEL<<<grid, block, shared, stream>>>(ARGUMENTS) (translate.py): arguments are copied at
   the launch. */
template <typename CALL>
struct prepared {
    launch_shape shape;
    CALL call;
    template <typename... ARGUMENTS>
    void operator()(const ARGUMENTS &...arguments) const
    {
        const CALL kernel = call;
        const std::tuple<ARGUMENTS...> copies(arguments...);

        enqueue_kernel(shape, [kernel, copies] { std::apply(kernel, copies); });
    }
};

template <typename CALL>
static inline prepared<CALL> prepare(CALL call, dim3 grid, unsigned block, size_t shared = 0,
                                     emulator_queue *stream = nullptr)
{
    return {{grid, block, shared, stream, residence::none}, call};
}

template <typename T>
static inline T shuffle(T value, int source_of_wave)
{
    const unsigned char *all = exchange(&value, sizeof value);
    T found;

    memcpy(&found, all + 16 * source_of_wave, sizeof found);
    return found;
}

/* From a lane of the same group of `width` lanes. */
template <typename T>
static inline T shuffle_from(T value, int source, int width)
{
    const int lane = (int)(here.thread % WAVE), group = lane / width * width;

    return shuffle(value, group + (source % width + width) % width);
}

/* The same from so many lanes further; outside the group: the lane's own. */
template <typename T>
static inline T shuffle_by(T value, int distance, int width)
{
    const int lane = (int)(here.thread % WAVE), group = lane / width, source = lane + distance;

    return shuffle(value, source >= 0 && source / width == group ? source : lane);
}

template <typename T>
static inline T shuffle_xor(T value, int mask)
{
    return shuffle(value, (int)(here.thread % WAVE) ^ mask);
}

/* Sums by halves from one exchange, in the order of one exchange for each half: the number below `kept` of the group of
   `width` lanes. */
template <typename T>
static inline T sum_of_lanes(const unsigned char *all, int width, int least, int kept)
{
    T part[WAVE];

    for (int l = 0; l < width; l++) {
        memcpy(&part[l], all + 16 * l, sizeof part[l]);
    }
    for (int distance = width / 2; distance >= least; distance /= 2) {
        for (int l = 0; l < distance; l++) {
            part[l] += part[l + distance];
        }
    }
    return part[kept];
}

template <typename T>
static inline T lanes_sum(T value, int width)
{
    const int group = (int)(here.thread % WAVE) / width * width;

    return sum_of_lanes<T>(exchange(&value, sizeof value) + 16 * group, width, 1, 0);
}

template <typename T>
static inline T lanes_sum_down(T value, int width, int least)
{
    const int lane = (int)(here.thread % WAVE), group = lane / width * width;
    const unsigned char *all = exchange(&value, sizeof value) + 16 * group;

    return lane - group < least ? sum_of_lanes<T>(all, width, least, lane - group) : value;
}

uint32_t ballot(bool predicate);
int reduce_wave(int value, int (*join)(int, int));

} // namespace emulator

#endif
