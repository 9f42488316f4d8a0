/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How blocks of a triangular solve exchange parts of the solution. Every 8-byte word holds 32 bits of a value and the
 * number of the call. Words are written and read whole: a reader that finds the number of this call has the value. So
 * no fences, flags or clearing passes are needed, and one trip through memory transfers both.
 */
#ifndef TESS_DENSE_TRSV_MESSAGES_CUH
#define TESS_DENSE_TRSV_MESSAGES_CUH

#include "device/gpu/wait.cuh"

/* Precedes the messages in their workspace. All zero before the first call; the last block of a call resets it. */
struct solve_head {
    unsigned ticket; /* blocks that have begun */
    unsigned done;   /* blocks that have ended */
    unsigned calls;  /* calls that have ended; at most UINT32_MAX - 1 */
    unsigned unused;
};

/* A block's part in a call. */
struct solve_turn {
    unsigned step; /* how many blocks of the call began before this one */
    unsigned call;
    bool idle; /* a wait timed out: the block only has to end */
};

/* All threads of a block call this first. Then all blocks that they will wait for have begun. */
__device__ static inline void take_turn(solve_head *head, const gpu_timeout &timeout, solve_turn *turn)
{
    if (threadIdx.x == 0) {
        turn->step = atomicAdd(&head->ticket, 1U);
        turn->call = *static_cast<volatile unsigned *>(&head->calls) + 1U;
        turn->idle = has_failed(timeout);
    }
    __syncthreads();
}

/* All threads call this last. The last block prepares the workspace for the next call; once in 2^32 calls it clears all
   numbers. */
__device__ static inline void end_turn(solve_head *head, void *messages, int64_t message_bytes, unsigned call)
{
    __shared__ bool last;

    if (threadIdx.x == 0) { last = gpu_count_up(&head->done) == gridDim.x - 1; }
    __syncthreads();
    if (!last) { return; }
    if (call == UINT32_MAX) {
        for (int64_t i = threadIdx.x; i < message_bytes / 8; i += GPU_BLOCK) {
            static_cast<uint64_t *>(messages)[i] = 0;
        }
    }
    if (threadIdx.x == 0) {
        head->ticket = 0;
        head->done = 0;
        head->calls = call == UINT32_MAX ? 0 : call;
    }
}

/* A value of the solution during the call. */
template <typename T>
struct message {
    static constexpr int WORDS = static_cast<int>(sizeof(T) / 4);
    uint64_t word[WORDS];
};

template <typename T>
__device__ static inline bool is_current(const message<T> &from, unsigned call)
{
    bool current = true;

#pragma unroll
    for (int w = 0; w < message<T>::WORDS; w++) {
        current = current && static_cast<unsigned>(from.word[w]) == call;
    }
    return current;
}

template <typename T>
__device__ static inline T open_message(const message<T> &from)
{
    T value;

    if constexpr (sizeof(T) == 8) {
        uint64_t bits = (from.word[0] >> 32) | (from.word[1] & 0xffffffff00000000U);
        memcpy(&value, &bits, sizeof value);
    } else {
        uint32_t bits = static_cast<uint32_t>(from.word[0] >> 32);
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

template <typename T>
__device__ static inline void post_message(message<T> *to, T value, unsigned call)
{
    uint64_t word[message<T>::WORDS];

    if constexpr (sizeof(T) == 8) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        word[0] = bits << 32 | call;
        word[1] = (bits & 0xffffffff00000000U) | call;
    } else {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        word[0] = static_cast<uint64_t>(bits) << 32 | call;
    }
    gpu_post(to->word, word);
}

/* Reads N messages, `stride` apart, without waiting. */
template <typename T, int N>
__device__ static inline void peek_messages(const message<T> *from, int stride, message<T> (&to)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        gpu_peek(from[i * stride].word, to[i].word);
    }
}

/* Waits until all N messages are of this call; `seen` has the result of an earlier read. Between reads it pauses (in
   nanoseconds; 0: not), so that blocks that can wait leave the memory to those that cannot. After a timeout the values
   mean nothing. */
template <typename T, int N>
__device__ static inline void await_messages(const message<T> *from, int stride, unsigned call, unsigned pause,
                                             const gpu_timeout &timeout, message<T> (&seen)[N], T (&value)[N])
{
    gpu_wait wait;

    for (;;) {
        bool all = true;

#pragma unroll
        for (int i = 0; i < N; i++) {
            all = all && is_current(seen[i], call);
        }
        if (all || !goes_on(timeout, &wait)) { break; }
        if (pause > 0) { GPU_PAUSE(pause); }
        peek_messages(from, stride, seen);
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        value[i] = open_message(seen[i]);
    }
}

#endif
