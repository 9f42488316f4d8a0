/* SPDX-License-Identifier: Apache-2.0 */
/* Small binary files; see bytes.h. */
#include <unistd.h>

#include "support/bytes.h"
#include "support/heap.h"
#include "support/test.h"

void put(image *im, const void *bytes, size_t count)
{
    assert_true(im->count + count <= MOST_BYTES);
    memcpy(im->bytes + im->count, bytes, count);
    im->count += count;
}

void put_bits(image *im, uint64_t bits, int width, bool big)
{
    for (int i = 0; i < width; i++) {
        const unsigned char byte = (unsigned char)(bits >> (8 * (big ? width - 1 - i : i)));

        put(im, &byte, 1);
    }
}

void put_real(image *im, double value, int width, bool big)
{
    uint64_t bits = 0;

    if (width == 4) {
        const float single = (float)value;
        uint32_t low;

        memcpy(&low, &single, 4);
        bits = low;
    } else {
        memcpy(&bits, &value, 8);
    }
    put_bits(im, bits, width, big);
}

void save_image(const image *im, size_t count, char path[64])
{
    strcpy(path, "/tmp/tessera-test-XXXXXX");
    const int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, im->bytes, count), (ssize_t)count);
    close(descriptor);
}

tess_status read_image(tess_context *ctx, const image *im, size_t count, double **values, int64_t sizes[2])
{
    char path[64];

    save_image(im, count, path);
    const tess_status status = tess_array_read(ctx, path, values, &sizes[0], &sizes[1]);
    unlink(path);
    return status;
}

void check_memory(const image *im)
{
    bool whole = false;

    for (int64_t k = 0; !whole; k++) {
        heap h = {.fail_at = -1};
        tess_context_options options;
        tess_context *ctx = NULL;
        tess_matrix *m = NULL;

        tess_context_options_init(&options);
        options.device = TESS_DEVICE_CPU;
        options.host_allocator = heap_allocator(&h);
        assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
        heap_fail_at(&h, k);
        const tess_status status = tess_matrix_read_memory(ctx, "A", im->bytes, im->count, &m, NULL);
        whole = status == TESS_SUCCESS;
        assert_true(whole || status == TESS_OUT_OF_MEMORY);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        assert_int_equal(h.live, 0);
        assert_int_equal(h.wrong_releases, 0);
    }
}
