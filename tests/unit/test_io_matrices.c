/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real matrices: those shipped in data/ always; a larger collection where TESSERA_MATRICES or the build names one, each
 * as its MANIFEST.tsv says. What is read comes back from text and cache bit for bit.
 */
#include <unistd.h>

#include <tessera/io.h>

#include "support/test.h"

enum { LINE_BYTES = 1024, LARGEST_ROUND_TRIP = 120000 };

static void compare(const tess_matrix *a, const tess_matrix *b, const char *name)
{
    tess_csr_view x = tess_matrix_csr_view(a), y = tess_matrix_csr_view(b);

    if (x.nrows != y.nrows || x.ncols != y.ncols || x.nnz != y.nnz ||
        memcmp(x.row_ptr, y.row_ptr, (size_t)(x.nrows + 1) * (size_t)x.row_ptr_bits / 8) != 0 ||
        memcmp(x.col_ind, y.col_ind, (size_t)x.nnz * sizeof *x.col_ind) != 0 || !same_bits(x.val, y.val, x.nnz)) {
        fail_msg("%s did not come back as it was written", name);
    }
}

static void check_round_trip(tess_context *ctx, const tess_matrix *m, const char *name, bool symmetric)
{
    char path[64] = "/tmp/tessera-test-XXXXXX";
    tess_matrix *again = NULL;
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_ok(ctx, tess_matrix_write(m, path, symmetric));
    assert_ok(ctx, tess_matrix_read(ctx, path, &again, NULL));
    compare(m, again, name);
    tess_matrix_destroy(again);
    assert_ok(ctx, tess_matrix_write_cache(m, path));
    assert_ok(ctx, tess_matrix_read(ctx, path, &again, NULL));
    compare(m, again, name);
    tess_matrix_destroy(again);
    unlink(path);
}

/* Two readings, with one and two threads, must agree with each other and with the known facts. */
static void check_file(const char *path, int64_t nrows, int64_t ncols, int64_t nnz)
{
    tess_context *one = open_cpu(1), *two = open_cpu(2);
    tess_matrix *a = NULL, *b = NULL;
    tess_mtx_info info = {.size = sizeof info};

    assert_ok(two, tess_matrix_read(two, path, &b, &info));
    if (tess_matrix_nrows(b) != nrows || tess_matrix_ncols(b) != ncols || tess_matrix_nnz(b) != nnz) {
        fail_msg("%s is %lld by %lld with %lld nonzeros", path, (long long)tess_matrix_nrows(b),
                 (long long)tess_matrix_ncols(b), (long long)tess_matrix_nnz(b));
    }
    assert_int_equal(info.is_complex ? 4 * info.nonzeros : info.nonzeros, nnz);
    assert_int_equal(info.compressed, 1);
    if (nnz <= LARGEST_ROUND_TRIP) {
        assert_ok(one, tess_matrix_read(one, path, &a, NULL));
        compare(a, b, path);
        check_round_trip(two, b, path, info.symmetry == 1);
    }
    tess_matrix_destroy(a);
    tess_matrix_destroy(b);
    tess_context_destroy(one);
    tess_context_destroy(two);
}

static void test_shipped_matrices(void **state)
{
    const struct {
        const char *name;
        int64_t nrows, nnz;
    } known[] = {{"1138_bus", 1138, 4054}, {"CAG_mat72", 72, 1012}, {"GD01_c", 33, 135},  {"Trefethen_20", 20, 158},
                 {"bcsstk06", 420, 7860},  {"fs_541_1", 541, 4285}, {"nos3", 960, 15844}, {"plskz362", 362, 1760},
                 {"sherman4", 1104, 3786}, {"west0067", 67, 294}};
    const char *folder = getenv("TESSERA_DATA_DIR");

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char path[LINE_BYTES];

        snprintf(path, sizeof path, "%s/%s.mtx.gz", folder ? folder : TESS_DATA_DIR, known[i].name);
        check_file(path, known[i].nrows, known[i].nrows, known[i].nnz);
    }
}

/* young2c calls itself symmetric and lists both triangles, 494 of whose entries differ from their mirror image. */
static void check_contradiction(const char *path)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = NULL;

    assert_int_equal(tess_matrix_read(ctx, path, &m, NULL), TESS_PARSE);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "the triangles do not agree"));
    assert_null(m);
    tess_context_destroy(ctx);
}

/* A line of the manifest: name, rows, columns, nonzeros, class, kind, ... */
static void check_manifest_line(const char *folder, const char *line)
{
    char path[2 * LINE_BYTES], name[256], kind[256], class[64];
    long long nrows = 0, ncols = 0, nnz = 0;

    assert_int_equal(sscanf(line, "%255s %lld %lld %lld %63s %255s", name, &nrows, &ncols, &nnz, class, kind), 6);
    snprintf(path, sizeof path, "%s/%s.mtx.gz", folder, name);
    if (access(path, R_OK) != 0) { return; }
    if (strcmp(name, "young2c") == 0) {
        check_contradiction(path);
        return;
    }
    const bool is_complex = strncmp(kind, "complex", 7) == 0;
    check_file(path, is_complex ? 2 * nrows : nrows, is_complex ? 2 * ncols : ncols, is_complex ? 4 * nnz : nnz);
}

static void test_collection(void **state)
{
    const char *folder = getenv("TESSERA_MATRICES");
    char path[LINE_BYTES], line[LINE_BYTES];
    FILE *manifest = NULL;

    (void)state;
    folder = folder && *folder ? folder : TESS_MATRICES_DIR;
    snprintf(path, sizeof path, "%s/MANIFEST.tsv", folder);
    manifest = *folder ? fopen(path, "r") : NULL;
    if (!manifest) {
        print_message("no collection of matrices: set TESSERA_MATRICES to a directory with MANIFEST.tsv\n");
        skip();
    }
    assert_non_null(fgets(line, sizeof line, manifest));
    while (fgets(line, sizeof line, manifest)) {
        check_manifest_line(folder, line);
    }
    fclose(manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_matrices),
        cmocka_unit_test(test_collection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
