/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout grouped times several columns on the GPU (columns_product.cuh). */
#include "format/columns_product.cuh"
#include "format/tiles/tiles_device.cuh"

/* A place is a row. */
struct tiles_of_columns {
    typedef tiles_view view;

    __host__ __device__ static constexpr int blocks(int each, int ndots)
    {
        return each > 1 ? 2 : columns_blocks(each, ndots);
    }

    __host__ __device__ static inline int64_t places(const tiles_view *v)
    {
        return v->nrows;
    }

    /* Adds a group's part of a row. */
    template <int V>
    __device__ static inline void add_group(const tiles_view &v, const char *record, uint32_t header,
                                            const tiles_group &g, int level, int64_t row, const double *x, int columns,
                                            double (&total)[V])
    {
        const int r = (int)(row % v.rows);
        const int32_t diagonal = tiles_diagonal_column(&v, row / v.rows);
        const uint8_t *index = (const uint8_t *)record + g.index;
        const int end = tiles_row_end(record, &g, header, r), mask = (1 << v.column_bits) - 1;
        double sum[V] = {};

        for (int k = r > 0 ? tiles_row_end(record, &g, header, r - 1) : 0; k < end; k++) {
            const int slot = index[k] >> v.column_bits;
            const int64_t block = (int64_t)tiles_slot_column(record, &g, header, slot, diagonal);
            const double scale =
                tiles_is_scaled(header) ? tess_power_of_two(tiles_slot_exponent(record, &g, slot)) : 1.0;
            const double value = tess_load(v.precision[level], record + g.values, k) * scale;
            const auto factor = pack_at<V>(x + ((block << v.column_bits) + (index[k] & mask)) * columns);

            add_products(value, factor, sum);
        }
#pragma unroll
        for (int w = 0; w < V; w++) {
            total[w] += sum[w];
        }
    }

    /* STORED is known at run time alone. */
    template <typename STORED, int V>
    __device__ static inline int64_t sum_row(const tiles_view &v, int64_t row, const double *x, int columns,
                                             double (&sum)[V])
    {
        const char *record = v.record + (int64_t)v.start[row / v.rows] * TILES_UNIT;
        const uint32_t *words = (const uint32_t *)(const void *)record;
        const int nruns = (int)words[0];
        uint32_t at = tiles_head_bytes(nruns, v.nlevels);

        for (int run = 0; run < nruns; run++) {
            for (int l = v.nlevels - 1; l >= 0; l--) {
                const uint32_t header = words[1 + tiles_header_place(run, l, v.nlevels)];

                if (header == 0) { continue; }
                const tiles_group g = tiles_group_at(header, at, v.rows, (int)tess_storage_bytes(v.precision[l]));

                add_group(v, record, header, g, l, row, x, columns, sum);
                at = g.end;
            }
        }
        return row;
    }
};

tess_status tiles_gpu_multiply_columns(tess_context *ctx, const tiles_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    switch (args->reduction.ndots) {
    case 0: return launch_columns<tiles_of_columns, double, double, double, 0, false>(ctx, v, args);
    case 1: return launch_columns<tiles_of_columns, double, double, double, 1, false>(ctx, v, args);
    default: return launch_columns<tiles_of_columns, double, double, double, 2, false>(ctx, v, args);
    }
}
