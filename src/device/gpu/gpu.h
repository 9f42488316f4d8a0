/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by GPU sources: the vendor's names, the context's device state, errors, launches. */
#ifndef TESS_DEVICE_GPU_GPU_H
#define TESS_DEVICE_GPU_GPU_H

#include "base/context.h"
#include "device/gpu/pool.h"

/*
 * A reduction whose partial sums are in memory and whose scalar update has yet to run. Within a loop, kernels do not
 * finish their own reductions: the next kernel does, in every block. This is cheaper than waiting for the last block at
 * the end of a kernel.
 */
typedef struct gpu_pending {
    const double *partials; /* ndots * count */
    unsigned count;
    int ndots; /* 0: no reduction is pending */
    tess_scalar_update scalar;
} gpu_pending;

/* Threads of a block in all kernels here. */
enum { GPU_BLOCK = 256, GPU_RETIRED_WORKSPACES = 64, GPU_SHARING_KERNELS = 64 };

/* Bytes. */
enum { GPU_MAPPED_BYTES = 1 << 16 };

/* Host memory that the device can read and write, with its address on each side. */
typedef struct gpu_mapped {
    void *host, *device;
} gpu_mapped;

/* Mailboxes of ended loops are kept for new loops. */
enum { GPU_POOLED_MAILBOXES = 16 };

/*
 * Device memory kept between calls. A larger workspace replaces a smaller one, which stays until the context ends
 * because recorded graphs may still use it. Each growth doubles the size, so that `retired` never fills.
 */
typedef struct gpu_workspace {
    void *memory;
    int64_t bytes;
    void *retired[GPU_RETIRED_WORKSPACES];
    int64_t retired_bytes[GPU_RETIRED_WORKSPACES];
    int nretired;
} gpu_workspace;

/* For kernels whose blocks wait for one another (wait.cuh). */
typedef struct gpu_timeout {
    int64_t nanoseconds; /* after this time a waiting block gives up */
    uint64_t *failure;   /* on the device: not 0 once a block has given up */
    int32_t *timed_out;  /* the same in mapped host memory, with its device address */
} gpu_timeout;

typedef struct gpu_state {
    int device;
    int multiprocessors;
    int64_t shared_bytes; /* shared memory of a multiprocessor */
    GPU(Stream_t) stream;
    bool owns_stream;
    int64_t shared_bytes_per_block;           /* the most that a block may request */
    const void *sharing[GPU_SHARING_KERNELS]; /* kernels that gpu_allow_shared has set up; hashed by address */
    bool can_overlap;                         /* the device supports overlapped launches */
    bool recording;                           /* a loop is being recorded: its kernels may overlap */
    /* Within a loop: its state, the reduction that the next kernel must finish, and the two copies of the state, used
       in turn. */
    tess_loop_state *deferring; /* NULL: not within a loop */
    gpu_pending pending;
    tess_loop_state *state_now, *state_next;
    bool upper_half;        /* which half of the partial sums' workspace the pending reduction uses */
    gpu_workspace partials; /* partial sums of reductions */
    gpu_workspace parts;    /* of dense products: separate from the partial sums, which a recorded loop may still need
                             */
    gpu_workspace solves;   /* of triangular solves */
    unsigned *ticket;       /* counts the blocks of a reduction that have finished; 0 between kernels */
    gpu_timeout timeout;
    volatile int32_t *timed_out; /* host address of timeout.timed_out */
    gpu_mapped mapped;           /* GPU_MAPPED_BYTES, for small results that the host waits for */
    gpu_mapped mailbox[GPU_POOLED_MAILBOXES];
    int mailboxes;
    GPU(Stream_t) recorder; /* the stream that loops are recorded on; NULL before the first */
    gpu_pool pool;
    int64_t launches, bodies; /* so far: of kernels, and of loops' bodies without a recording */
    int64_t long_iterations;  /* of many kernels, run without a recording (loop.cu) */
    int largest_cluster;      /* of single kernels, in blocks; 0: not queried yet, because the query takes time */
} gpu_state;

static inline gpu_state *gpu_state_of(const tess_context *ctx)
{
    return (gpu_state *)ctx->device_state;
}

static inline GPU(Stream_t) gpu_stream_of(const tess_context *ctx)
{
    return gpu_state_of(ctx)->stream;
}

/* Makes the context's device current and restores the caller's at the end of the scope. */
class gpu_scope {
  public:
    explicit gpu_scope(const tess_context *ctx) : previous_(-1), own_(gpu_state_of(ctx)->device)
    {
        if (GPU(GetDevice)(&previous_) != GPU(Success)) { previous_ = own_; }
        if (previous_ != own_) { (void)GPU(SetDevice)(own_); }
    }
    ~gpu_scope()
    {
        if (previous_ != own_) { (void)GPU(SetDevice)(previous_); }
    }
    gpu_scope(const gpu_scope &) = delete;
    gpu_scope &operator=(const gpu_scope &) = delete;

  private:
    int previous_, own_;
};

/* Records an error of the runtime and what was being done; SUCCESS for Success. */
tess_status gpu_check(tess_context *ctx, GPU(Error_t) error, const char *doing);
/* The same for a wait on the stream. A block that timed out since the last wait is an error too. */
tess_status gpu_check_wait(tess_context *ctx, GPU(Error_t) error, const char *doing);
/* The status of the launch just made. */
tess_status gpu_check_launch(tess_context *ctx, const char *kernel);

/* Lets a kernel's blocks use all shared memory of the device, and prefers shared memory to cache. Call it before
   launches that need more than the default. It costs nothing the second time. */
tess_status gpu_allow_shared(tess_context *ctx, const void *kernel);

tess_status gpu_allocate_mapped(tess_context *ctx, size_t bytes, gpu_mapped *out);

/* Space for `count` partial sums. */
tess_status gpu_partials(tess_context *ctx, int64_t count, double **out);

/* Workspace of `count` values for one function: parts of dense products' sums, counts of set-ups. */
tess_status gpu_parts(tess_context *ctx, int64_t count, double **out);
/* Makes workspace->memory at least `bytes` large. New memory is zero on request, but not while a loop is recorded. */
tess_status gpu_workspace_reserve(tess_context *ctx, gpu_workspace *workspace, int64_t bytes, bool zeroed);

/* Blocks for n elements, at most `per_multiprocessor` on each multiprocessor. */
static inline unsigned gpu_grid(const tess_context *ctx, int64_t n, int per_multiprocessor)
{
    int64_t needed = (n + GPU_BLOCK - 1) / GPU_BLOCK;
    int64_t most = (int64_t)gpu_state_of(ctx)->multiprocessors * per_multiprocessor;

    return (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
}

/*
 * Launches a kernel of a loop. While a loop is recorded, consecutive kernels overlap: every such kernel calls
 * GPU_LET_NEXT_START, and GPU_WAIT_FOR_PREVIOUS before it touches anything that a kernel of the loop writes.
 */
template <typename... PARAMETERS, typename... ARGUMENTS>
static inline tess_status gpu_launch_blocks(tess_context *ctx, const char *doing, void (*kernel)(PARAMETERS...),
                                            unsigned grid, unsigned block, size_t shared, const ARGUMENTS &...arguments)
{
    const gpu_state *state = gpu_state_of(ctx);

    if (state->recording && state->can_overlap) {
        gpu_launch_overlapped(kernel, grid, block, shared, state->stream, arguments...);
    } else {
        kernel<<<grid, block, shared, state->stream>>>(PARAMETERS(arguments)...);
    }
    return gpu_check_launch(ctx, doing);
}

/* The same with blocks of GPU_BLOCK threads. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static inline tess_status gpu_launch(tess_context *ctx, const char *doing, void (*kernel)(PARAMETERS...), unsigned grid,
                                     size_t shared, const ARGUMENTS &...arguments)
{
    return gpu_launch_blocks(ctx, doing, kernel, grid, GPU_BLOCK, shared, arguments...);
}

/* The same, beside the previous kernel if the device can: this kernel takes the multiprocessors that the previous one
   no longer needs. Neither reads what the other writes. The previous kernel calls GPU_LET_NEXT_START when this one may
   run, and this one calls GPU_WAIT_FOR_PREVIOUS at its end, so that the next kernel waits for both. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static inline tess_status gpu_launch_beside(tess_context *ctx, const char *doing, void (*kernel)(PARAMETERS...),
                                            unsigned grid, size_t shared, const ARGUMENTS &...arguments)
{
    const gpu_state *state = gpu_state_of(ctx);

    if (!state->can_overlap) { return gpu_launch(ctx, doing, kernel, grid, shared, arguments...); }
    gpu_launch_overlapped(kernel, grid, GPU_BLOCK, shared, state->stream, arguments...);
    return gpu_check_launch(ctx, doing);
}

extern "C" {
tess_status gpu_fused(tess_context *ctx, const tess_fused *op);
tess_status gpu_run_loop(tess_context *ctx, tess_loop *loop);
tess_status gpu_repeat(tess_context *ctx, tess_status (*body)(void *user), void *user, int64_t count,
                       void **graph_slot);
void gpu_release_graph(tess_context *ctx, void *graph);
}

#endif
