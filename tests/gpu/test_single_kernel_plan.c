/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of single kernels made on the GPU: the arrays of those that the host makes, to the bit. */
#include "base/device.h"
#include "matrix/matrix.h"
#include "solver/single_kernel/single_kernel.h"
#include "support/incomplete.h"
#include "support/tiles.h"

static tess_context *gpu = NULL;

static void check_array(const void *expected, const void *device, int64_t count, size_t size)
{
    void *back = test_allocate(count, size);

    assert_ok(gpu, gpu->backend->download(gpu, back, device, (size_t)count * size));
    assert_memory_equal(back, expected, (size_t)count * size);
    free(back);
}

static void check_same(const single_plan *host, const single_plan *device)
{
    const int blocks = host->blocks;

    assert_int_equal(device->blocks, blocks);
    assert_int_equal(device->cluster, host->cluster);
    assert_int_equal(device->run, host->run);
    assert_int_equal(device->lanes, host->lanes);
    assert_int_equal(device->n, host->n);
    assert_int_equal(device->nnz, host->nnz);
    assert_int_equal(device->most_rows, host->most_rows);
    assert_int_equal(device->most_columns, host->most_columns);
    assert_int_equal(device->most_entries, host->most_entries);
    assert_int_equal(device->most_units, host->most_units);
    check_array(host->row_begin, device->row_begin, blocks + 1, sizeof *host->row_begin);
    check_array(host->column_begin, device->column_begin, blocks + 1, sizeof *host->column_begin);
    check_array(host->own, device->own, blocks, sizeof *host->own);
    check_array(host->row_ptr, device->row_ptr, (int64_t)host->n + 1, sizeof *host->row_ptr);
    assert_int_equal(device->column_capacity, host->column_begin[blocks]);
    check_array(host->column, device->column, host->column_begin[blocks], sizeof *host->column);
    if (host->nnz > 0) { check_array(host->place, device->place, host->nnz, sizeof *host->place); }
}

/* The same matrix in both memories, assembled and in tiles. */
typedef struct twins {
    tess_context *cpu;
    tess_matrix *host, *device, *host_tiles, *device_tiles;
} twins;

static twins make_twins(const oracle_csr *a)
{
    const tess_storage_options options = resident_lossless("fp64,fp32,fp16,e4m3");
    twins t = {.cpu = open_cpu(1)};

    t.host = make_matrix(t.cpu, a);
    t.device = make_matrix(gpu, a);
    t.host_tiles = convert_tiles(t.host, &options);
    t.device_tiles = convert_tiles(t.device, &options);
    return t;
}

static void free_twins(twins *t)
{
    tess_matrix_destroy(t->host_tiles);
    tess_matrix_destroy(t->device_tiles);
    tess_matrix_destroy(t->host);
    tess_matrix_destroy(t->device);
    tess_context_destroy(t->cpu);
}

/* For every number of blocks, twice, in CSR order and in tiles: memory that was used before makes no difference. */
static void check_plans(const oracle_csr *a)
{
    static const int blocks[] = {1, 2, 3, 16, 132, SINGLE_MAX_BLOCKS};
    twins t = make_twins(a);
    tess_context *cpu = t.cpu;

    for (size_t k = 0; k < 4 * (sizeof blocks / sizeof *blocks); k++) {
        single_shape shape = single_kernel_shape(k % 4 < 2 ? t.host : t.host_tiles);
        single_plan host, device;

        shape.blocks = blocks[k / 4];
        shape.cluster = k % 2 == 0;
        assert_ok(cpu, single_plan_make(cpu, a->nrows, a->row_ptr, a->col_ind, &shape, &host));
        shape = single_kernel_shape(k % 4 < 2 ? t.device : t.device_tiles);
        shape.blocks = blocks[k / 4];
        shape.cluster = k % 2 == 0;
        assert_ok(gpu, single_kernel_ops_of(gpu)->plan(t.device, &shape, &device));
        if (host.blocks > 0) {
            check_same(&host, &device);
        } else {
            assert_int_equal(device.blocks, 0);
            assert_null(device.memory);
            assert_null(device.column);
        }
        single_plan_free(cpu, &host);
        single_plan_release(gpu, &device);
    }
    free_twins(&t);
}

static void plans_are_those_of_the_host(void **state)
{
    oracle_csr matrices[] = {oracle_laplace2d(1),
                             oracle_laplace2d(4),
                             oracle_laplace2d(49),
                             oracle_laplace2d(on_gpu_or_emulated(256, 90)),
                             oracle_hilbert(17),
                             oracle_hilbert(300),
                             oracle_tridiagonal(1025, -1.0, 2.0, -1.0),
                             oracle_random(2395, 2395, 5, 3),
                             oracle_random(on_gpu_or_emulated(40000, 9000), on_gpu_or_emulated(40000, 9000), 20, 5),
                             oracle_power_law(5000, 5),
                             arrow(3000, true),
                             arrow(3000, false),
                             oracle_with_empty_rows(2000)};

    (void)state;
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        check_plans(&matrices[m]);
        oracle_free(&matrices[m]);
    }
}

/* More columns than 16 bits count, in one block and in few. */
static void what_no_plan_holds_has_none(void **state)
{
    static const int64_t orders[] = {65535, 65536, 140000, INT64_C(1) << 19};

    (void)state;
    for (size_t o = 0; o < sizeof orders / sizeof *orders - (gpu_is_emulated() ? 2 : 0); o++) {
        oracle_csr a = oracle_open(orders[o], orders[o]);

        for (int64_t i = 0; i < a.nrows; i++) {
            oracle_push(&a, i, 1.0);
            oracle_end_row(&a, i);
        }
        check_plans(&a);
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_those_of_the_host),
        cmocka_unit_test(what_no_plan_holds_has_none),
    };

    return run_gpu_tests(tests, &gpu);
}
