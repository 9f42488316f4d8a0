/* SPDX-License-Identifier: Apache-2.0 */
/* A small binary file, built piece by piece. */
#ifndef TESS_TESTS_SUPPORT_BYTES_H
#define TESS_TESTS_SUPPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/tessera.h>

enum { MOST_BYTES = 4096 };

typedef struct image {
    unsigned char bytes[MOST_BYTES];
    size_t count;
} image;

void put(image *im, const void *bytes, size_t count);
/* A number of `width` bytes, high byte first or last. */
void put_bits(image *im, uint64_t bits, int width, bool big);
void put_real(image *im, double value, int width, bool big); /* of 4 or 8 bytes */

/* Writes the first `count` bytes to a file and reads it as an array. *values is NULL after a failure. */
tess_status read_image(tess_context *ctx, const image *im, size_t count, double **values, int64_t sizes[2]);
/* A temporary file with these bytes, which the caller removes. */
void save_image(const image *im, size_t count, char path[64]);

/* The k-th allocation fails while the image is read as a matrix, for each k: an error, and no memory is left. */
void check_memory(const image *im);

#endif
