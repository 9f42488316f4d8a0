/* SPDX-License-Identifier: Apache-2.0 */
/* Sliced ELLPACK and blocks as cuSPARSE wants them, built on the host. */
#ifndef TESS_BENCH_PEERS_HOST_FORMATS_CUH
#define TESS_BENCH_PEERS_HOST_FORMATS_CUH

#include <algorithm>
#include <cstdio>
#include <vector>

#include "harness/harness.h"

namespace {

constexpr int64_t most_padding = 8; /* padded entries per nonzero beyond which SELL is no contestant */
constexpr double most_fill = 1.5;   /* of BSR likewise: its bytes are CSR's at 1.33 to 1.45 */

/* A format on the host. Sliced ELLPACK: slices column-major, padding with column -1 as cuSPARSE wants it. Blocks:
 * row-major, their columns ascending. */
struct host_arrays {
    std::vector<int32_t> offsets, columns;
    std::vector<double> values;
};

/* ---- sliced ELLPACK ---- */

int64_t measure_slices(const bench_csr *a, int rows, std::vector<int64_t> &offsets)
{
    int64_t slices = (a->nrows + rows - 1) / rows;

    offsets.assign(static_cast<size_t>(slices) + 1, 0);
    for (int64_t s = 0; s < slices; s++) {
        int64_t width = 0;

        for (int64_t i = s * rows; i < std::min(a->nrows, (s + 1) * rows); i++) {
            width = std::max(width, a->row_ptr[i + 1] - a->row_ptr[i]);
        }
        offsets[static_cast<size_t>(s) + 1] = offsets[static_cast<size_t>(s)] + width * rows;
    }
    return offsets[static_cast<size_t>(slices)];
}

void fill_slices(const bench_csr *a, int rows, host_arrays *out)
{
    int64_t slices = static_cast<int64_t>(out->offsets.size()) - 1;

#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < slices; s++) {
        for (int64_t i = s * rows; i < std::min(a->nrows, (s + 1) * rows); i++) {
            int64_t place = out->offsets[static_cast<size_t>(s)] + (i - s * rows);

            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++, place += rows) {
                out->columns[static_cast<size_t>(place)] = a->col_ind[k];
                out->values[static_cast<size_t>(place)] = a->val[k];
            }
        }
    }
}

bool build_slices(const bench_csr *a, int rows, host_arrays *out, char *reason, size_t reason_size)
{
    std::vector<int64_t> offsets;
    int64_t padded = measure_slices(a, rows, offsets);

    if (padded > most_padding * std::max<int64_t>(a->nnz, 1) || padded >= INT32_MAX) {
        std::snprintf(reason, reason_size, "padding: %.1f entries per nonzero",
                      static_cast<double>(padded) / static_cast<double>(a->nnz));
        return false;
    }
    out->offsets.assign(offsets.begin(), offsets.end());
    out->columns.assign(static_cast<size_t>(padded), -1);
    out->values.assign(static_cast<size_t>(padded), 0.0);
    fill_slices(a, rows, out);
    return true;
}

/* ---- blocks ---- */

/* The columns of the blocks in a row of blocks, ascending. */
void find_blocks(const bench_csr *a, int64_t row, int size, std::vector<int32_t> &blocks)
{
    blocks.clear();
    for (int64_t k = a->row_ptr[row * size]; k < a->row_ptr[(row + 1) * size]; k++) {
        blocks.push_back(a->col_ind[k] / size);
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

int64_t count_blocks(const bench_csr *a, int size, std::vector<int64_t> &offsets)
{
    const int64_t rows = a->nrows / size;

    offsets.assign(static_cast<size_t>(rows) + 1, 0);
#pragma omp parallel
    {
        std::vector<int32_t> blocks;

#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            find_blocks(a, i, size, blocks);
            offsets[static_cast<size_t>(i) + 1] = static_cast<int64_t>(blocks.size());
        }
    }
    for (size_t i = 1; i < offsets.size(); i++) {
        offsets[i] += offsets[i - 1];
    }
    return offsets.back();
}

void fill_blocks(const bench_csr *a, int size, host_arrays *out)
{
    const int64_t rows = static_cast<int64_t>(out->offsets.size()) - 1;

#pragma omp parallel
    {
        std::vector<int32_t> blocks;

#pragma omp for schedule(static)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t first = out->offsets[static_cast<size_t>(i)];

            find_blocks(a, i, size, blocks);
            std::copy(blocks.begin(), blocks.end(), out->columns.begin() + first);
            for (int64_t r = i * size; r < (i + 1) * size; r++) {
                for (int64_t k = a->row_ptr[r]; k < a->row_ptr[r + 1]; k++) {
                    const int32_t column = a->col_ind[k];
                    const int64_t block =
                        first + (std::lower_bound(blocks.begin(), blocks.end(), column / size) - blocks.begin());

                    out->values[static_cast<size_t>((block * size + r % size) * size + column % size)] = a->val[k];
                }
            }
        }
    }
}

bool build_blocks(const bench_csr *a, int size, host_arrays *out, char *reason, size_t reason_size)
{
    std::vector<int64_t> offsets;
    int64_t blocks = 0;

    if (a->nrows % size != 0 || a->ncols % size != 0) {
        std::snprintf(reason, reason_size, "the order is no multiple of %d", size);
        return false;
    }
    blocks = count_blocks(a, size, offsets);
    if (static_cast<double>(blocks * size * size) > most_fill * static_cast<double>(a->nnz) ||
        blocks * size * size >= INT32_MAX) {
        std::snprintf(reason, reason_size, "fill: %.1f entries per nonzero",
                      static_cast<double>(blocks * size * size) / static_cast<double>(a->nnz));
        return false;
    }
    out->offsets.assign(offsets.begin(), offsets.end());
    out->columns.resize(static_cast<size_t>(blocks));
    out->values.assign(static_cast<size_t>(blocks * size * size), 0.0);
    fill_blocks(a, size, out);
    return true;
}

} // namespace

#endif
