/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy error-bound on every row of every matrix at hand, checked in wide arithmetic: those of data/, the problems of
 * the gallery, and the real matrices of test_real_matrices.c. Skipped visibly if the last are absent.
 */
#include <tessera/gallery.h>
#include <tessera/io.h>

#include "matrix/matrix.h"
#include "support/error_bound.h"
#include "support/gallery.h"
#include "support/product.h"

enum { FEW_NONZEROS = 4000, MANY_NONZEROS = 200000 };

static const double bounds[] = {1e-12, 1e-10, 1e-7, 1e-4, 1e-2};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

/* All bounds by entry. Few nonzeros: in all formats; else, unless they are many, one format and kind for each bound. */
static void check_matrix(const tess_matrix *m, int number)
{
    oracle_csr a = decode_matrix(m);

    for (int b = 0; b < BOUNDS; b++) {
        const int turn = number + b;

        check_bound_case(m, &a, &bound_cases[BOUND_FP8_ENTRIES], bounds[b], BOUND_OF_ROWS);
        for (int c = 0; c < BOUND_CASES; c++) {
            const bool chosen = a.nnz <= FEW_NONZEROS || (a.nnz <= MANY_NONZEROS && c == turn % BOUND_CASES);

            if (chosen) { check_bound_case(m, &a, &bound_cases[c], bounds[b], (bound_kind)((turn + c) % BOUND_KINDS)); }
        }
    }
    oracle_free(&a);
}

static void check_file(tess_context *ctx, const char *directory, const char *name, int number)
{
    tess_matrix *m = NULL;
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s.mtx.gz", directory, name);
    assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
    check_matrix(m, number);
    tess_matrix_destroy(m);
}

static void every_matrix_of_data_is_within_the_bound(void **state)
{
    static const char *const names[] = {"1138_bus", "CAG_mat72", "GD01_c",   "Trefethen_20", "bcsstk06",
                                        "fs_541_1", "nos3",      "plskz362", "sherman4",     "west0067"};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < (int)(sizeof names / sizeof *names); k++) {
        check_file(ctx, TESS_DATA_DIR, names[k], k);
    }
    tess_context_destroy(ctx);
}

static void every_problem_of_the_gallery_is_within_the_bound(void **state)
{
    static const char *const problems[] = {"laplace1d 50",
                                           "laplace2d 20",
                                           "star2d 12",
                                           "stretched2d 12",
                                           "laplace3d 9",
                                           "laplace3d27 6",
                                           "uniflow2d 15",
                                           "bentpipe2d 15",
                                           "recirc2d 15",
                                           "anisotropic2d 15 0.01 30",
                                           "randomdiffusion2d 15",
                                           "randomdiffusion3d 8 2.5",
                                           "helmholtz2d 10",
                                           "eddy3d 4 2.5",
                                           "accircuit 10 3",
                                           "elasticity3d 4",
                                           "rowscale 8 50",
                                           "powerlaw 300",
                                           "hilbert 40",
                                           "arrow 60",
                                           "denserow 40",
                                           "emptyrows 30",
                                           "one-by-one",
                                           "unstructured2d 400",
                                           "ventricle 2000",
                                           "unstructured2d-rcm 400",
                                           "randomspd 200",
                                           "zero-row 30",
                                           "stokes2d 12",
                                           "stokes3d 5",
                                           "nan 31",
                                           "indefinite 30",
                                           "skew 30",
                                           "wide-range 40",
                                           "replicate " TESS_DATA_DIR "/west0067.mtx.gz 2"};
    enum { PROBLEMS = sizeof problems / sizeof *problems };
    size_t count = 0;
    const tess_gallery_entry *list = tess_gallery_list(&count);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(list[i].name);
        int k = 0;

        while (k < PROBLEMS && !(strncmp(problems[k], list[i].name, length) == 0 && strchr(" ", problems[k][length]))) {
            k++;
        }
        if (k == PROBLEMS) { fail_msg("%s is not tried", list[i].name); }
    }
    for (int k = 0; k < PROBLEMS; k++) {
        oracle_csr a = generate_problem(problems[k], 2);
        tess_matrix *m = make_matrix(ctx, &a);

        check_matrix(m, k);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* Complex ones are stored in their real form. young2c contradicts itself and is refused: test_io_matrices.c. */
static void every_real_matrix_is_within_the_bound(void **state)
{
    const char *directory = getenv("TESSERA_MATRICES");
    char line[1024], name[128];
    int matrices = 0;
    FILE *manifest = NULL;
    tess_context *ctx = open_cpu(2);

    (void)state;
    directory = directory && *directory ? directory : TESS_MATRICES_DIR;
    (void)snprintf(line, sizeof line, "%s/MANIFEST.tsv", directory);
    manifest = *directory ? fopen(line, "r") : NULL;
    if (!manifest) {
        print_message("SKIPPED: no real matrices (set TESSERA_MATRICES)\n");
        tess_context_destroy(ctx);
        skip();
    }
    while (fgets(line, sizeof line, manifest)) {
        if (sscanf(line, "%127[^\t]", name) != 1 || strcmp(name, "name") == 0) { continue; }
        if (strcmp(name, "young2c") == 0) { continue; }
        check_file(ctx, directory, name, matrices);
        matrices += 1;
    }
    fclose(manifest);
    print_message("             %d matrices\n", matrices);
    assert_true(matrices > 10);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_matrix_of_data_is_within_the_bound),
                                       cmocka_unit_test(every_problem_of_the_gallery_is_within_the_bound),
                                       cmocka_unit_test(every_real_matrix_is_within_the_bound)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
