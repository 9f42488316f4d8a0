/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file checkpoint.h  A solve, or time steps, that go on in another process: x and what it belongs to, in a file.
 *
 *     facts.iterations = result.iterations;
 *     tess_matrix_fingerprint(a, &facts.matrix);
 *     tess_checkpoint_write(x, &facts, "solve.ckpt");
 *     ...
 *     tess_checkpoint_read(ctx, "solve.ckpt", &facts, &x);       x is the initial guess of the solve that goes on
 *
 * docs/howto/long-solves.md
 */
#ifndef TESSERA_CHECKPOINT_H
#define TESSERA_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/vector.h>

TESS_BEGIN_DECLS

/** What a checkpoint holds beside x. The library stores the numbers as they are, and compares none of them. */
typedef struct tess_checkpoint {
    size_t size;         /**< sizeof(tess_checkpoint) */
    int64_t iterations;  /**< or time steps, made so far */
    double seconds;      /**< spent so far */
    uint64_t matrix;     /**< tess_matrix_fingerprint */
    uint64_t rhs;        /**< tess_vector_fingerprint of b; of time steps 0 */
    uint64_t options;    /**< tess_fingerprint of what the caller counts as options */
    int64_t reserved[4]; /**< zeros */
} tess_checkpoint;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_checkpoint_init_sized(tess_checkpoint *facts, size_t size);
static inline void tess_checkpoint_init(tess_checkpoint *facts)
{
    tess_checkpoint_init_sized(facts, sizeof *facts);
}

/**
 * Writes x, an FP64 vector, and the facts: a header with magic, version and byte order, the values, checksums. The file
 * appears complete or not at all. Errors: INVALID_ARGUMENT, UNSUPPORTED (x is not in FP64), IO, memory.
 */
TESS_EXPORT tess_status tess_checkpoint_write(const tess_vector *x, const tess_checkpoint *facts, const char *path);

/**
 * Reads a checkpoint into a new vector. Errors: NOT_FOUND, IO, CORRUPT (no checkpoint, damaged, cut, or of another
 * version), memory. On failure *x is NULL. tests/unit/test_checkpoint.c
 */
TESS_EXPORT tess_status tess_checkpoint_read(tess_context *ctx, const char *path, tess_checkpoint *facts,
                                             tess_vector **x);

/** A number for pattern and values of an assembled matrix: another one if any of them differs, but for chance. */
TESS_EXPORT tess_status tess_matrix_fingerprint(const tess_matrix *a, uint64_t *out);
/** The same for the values of a vector, as FP64. */
TESS_EXPORT tess_status tess_vector_fingerprint(const tess_vector *v, uint64_t *out);
/** The same for bytes, continued from @p before (0 at first). NULL: @p before. */
TESS_EXPORT uint64_t tess_fingerprint(uint64_t before, const void *bytes, size_t count);

TESS_END_DECLS

#endif
