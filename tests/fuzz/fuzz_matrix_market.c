/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target of the file readers: Matrix Market text, gzip, the binary cache, NumPy, SciPy and PETSc. What is
 * accepted must be a valid assembled matrix and must not depend on the number of threads; what is refused must come
 * with a message.
 *
 *   cmake --preset dev && cmake --build build/dev --target fuzz_matrix_market
 *   mkdir -p found && build/dev/fuzz/fuzz_matrix_market -max_len=4096 found tests/fuzz/corpus       # until stopped
 *   build/dev/fuzz/fuzz_matrix_market -runs=20000 -max_len=4096 tests/fuzz/corpus                   # a fixed number
 */
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

/*
 * A header may name millions of rows in a few bytes: such a matrix is legal, but the sanitizers take 16 s for 5.7
 * million rows of 3 entries, in which 100,000 other inputs run.
 */
enum { LARGEST_ALLOCATION = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *allocate_limited(void *user, size_t bytes)
{
    (void)user;
    return bytes > LARGEST_ALLOCATION ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(void *user, void *pointer, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(pointer);
}

static void require(int condition)
{
    if (!condition) { abort(); }
}

static tess_context *open_context(int threads)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = threads;
    options.host_allocator = (tess_allocator){allocate_limited, release, NULL};
    require(tess_context_create(&options, &ctx) == TESS_SUCCESS);
    return ctx;
}

static int64_t offset_at(const tess_csr_view *view, int64_t i)
{
    return view->row_ptr_bits == 64 ? ((const int64_t *)view->row_ptr)[i] : ((const int32_t *)view->row_ptr)[i];
}

static void check_assembled(const tess_csr_view *view)
{
    require(offset_at(view, 0) == 0 && offset_at(view, view->nrows) == view->nnz);
    for (int64_t i = 0; i < view->nrows; i++) {
        require(offset_at(view, i) <= offset_at(view, i + 1));
        for (int64_t k = offset_at(view, i); k < offset_at(view, i + 1); k++) {
            require(view->col_ind[k] >= 0 && view->col_ind[k] < view->ncols);
            require(k == offset_at(view, i) || view->col_ind[k - 1] < view->col_ind[k]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tess_context *ctx[2] = {open_context(1), open_context(2)};
    tess_matrix *m[2] = {NULL, NULL};
    tess_csr_view view[2];
    tess_status status[2];

    for (int i = 0; i < 2; i++) {
        tess_mtx_info info = {.size = sizeof info};

        status[i] = tess_matrix_read_memory(ctx[i], "input", data, size, &m[i], &info);
        require((status[i] == TESS_SUCCESS) == (m[i] != NULL));
        if (m[i]) {
            view[i] = tess_matrix_csr_view(m[i]);
            check_assembled(&view[i]);
            require((info.is_complex ? 4 : 1) * info.nonzeros == view[i].nnz);
        } else {
            require(tess_context_last_error(ctx[i])->message[0] != '\0');
        }
    }
    require(status[0] == status[1]);
    if (m[0]) {
        size_t nnz = (size_t)view[0].nnz;

        require(view[0].nrows == view[1].nrows && view[0].ncols == view[1].ncols && view[0].nnz == view[1].nnz);
        require(nnz == 0 || memcmp(view[0].col_ind, view[1].col_ind, nnz * sizeof(int32_t)) == 0);
        require(nnz == 0 || memcmp(view[0].val, view[1].val, nnz * sizeof(double)) == 0);
    } else {
        require(tess_context_last_error(ctx[0])->line == tess_context_last_error(ctx[1])->line);
    }
    for (int i = 0; i < 2; i++) {
        tess_matrix_destroy(m[i]);
        tess_context_destroy(ctx[i]);
    }
    return 0;
}
