/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading rate of matrix files: Matrix Market text with 17-digit and with short values, gzip, and the binary cache, for
 * one thread up to all; beside it what plain reads of the same bytes take. Makes its files in a temporary directory.
 * The files are in the page cache: the rate is that of the reader, not of the disk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <omp.h>

#include "harness/record.h"
#include "harness/study.h"

enum { ROW_ENTRIES = 7, MAX_REPEAT = 64 };

typedef struct read_options {
    int64_t megabytes;
    const char *directory;
} read_options;

/* A file that is read, and the bytes of text in it. */
typedef struct read_file {
    const char *label, *path;
    double text_bytes;
} read_file;

/* Seven entries a row near the diagonal and far from it, as a three-dimensional stencil has them. */
static tess_matrix *make_matrix(tess_context *ctx, int64_t n, int short_values)
{
    const int64_t distance[ROW_ENTRIES] = {-n / 50, -n / 500, -1, 0, 1, n / 500, n / 50};
    int64_t *row_ptr = bench_allocate(1, (size_t)(n + 1) * sizeof *row_ptr), nnz = 0;
    int32_t *col_ind = bench_allocate(1, (size_t)(n * ROW_ENTRIES) * sizeof *col_ind);
    double *val = bench_allocate(1, (size_t)(n * ROW_ENTRIES) * sizeof *val);
    uint64_t state = 88172645463325252U;
    tess_csr_arrays arrays = {.size = sizeof arrays,
                              .nrows = n,
                              .ncols = n,
                              .row_ptr = row_ptr,
                              .col_ind = col_ind,
                              .val = val,
                              .row_ptr_bits = 64,
                              .col_ind_bits = 32};
    tess_matrix *matrix = NULL;

    for (int64_t i = 0; i < n; i++) {
        row_ptr[i] = nnz;
        for (int d = 0; d < ROW_ENTRIES; d++) {
            int64_t col = i + distance[d];

            if (col < 0 || col >= n) { continue; }
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            col_ind[nnz] = (int32_t)col;
            val[nnz++] = short_values ? (double)(state % 2000) / 8.0 : (double)(state >> 11) * 0x1p-53;
        }
    }
    row_ptr[n] = nnz;
    arrays.nnz = nnz;
    bench_require(tess_matrix_create_csr(ctx, &arrays, &matrix), ctx, "matrix");
    free(row_ptr);
    free(col_ind);
    free(val);
    return matrix;
}

/* ---- times ---- */

typedef void (*read_call)(tess_context *ctx, const char *path);

static void read_matrix(tess_context *ctx, const char *path)
{
    tess_matrix *matrix = NULL;

    bench_require(tess_matrix_read(ctx, path, &matrix, NULL), ctx, path);
    tess_matrix_destroy(matrix);
}

/* The baseline: the file's bytes into memory, by one thread. */
static void read_bytes(tess_context *ctx, const char *path)
{
    static char piece[1 << 20];
    FILE *file = fopen(path, "rb");

    (void)ctx;
    if (!file) { bench_die("cannot open %s", path); }
    while (fread(piece, 1, sizeof piece, file) == sizeof piece) {}
    fclose(file);
}

static bench_time time_reading(read_call read, const char *path, int threads, int repeat)
{
    double seconds[MAX_REPEAT];
    tess_context *ctx = bench_context(TESS_DEVICE_CPU, threads);

    for (int i = -1; i < repeat; i++) { /* -1: warm-up */
        const double start = bench_wall_seconds();

        read(ctx, path);
        seconds[i < 0 ? 0 : i] = bench_wall_seconds() - start;
    }
    tess_context_destroy(ctx);
    return bench_time_of_samples(seconds, repeat, 1);
}

static double file_bytes(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 ? (double)facts.st_size : 0.0;
}

/* ---- report ---- */

/* threads 0: plain reads. The rate counts the text: for gzip, what is inside. */
static void report(bench_run *run, const read_file *file, const tess_matrix *matrix, int threads, bench_time time)
{
    char name[32];
    const bench_record record = {.matrix = file->label,
                                 .nrows = tess_matrix_nrows(matrix),
                                 .ncols = tess_matrix_ncols(matrix),
                                 .nnz = tess_matrix_nnz(matrix),
                                 .contestant = name,
                                 .ours = threads > 0,
                                 .precision = "fp64",
                                 .of = "reading",
                                 .time = time,
                                 .bytes = threads > 0 ? file->text_bytes : file_bytes(file->path)};
    json_t *row = NULL;

    snprintf(name, sizeof name, threads > 0 ? "tessera, %d threads" : "plain reads", threads);
    row = bench_record_row(run, &record);
    bench_set(row, "{s:i, s:I}", "threads", threads > 0 ? threads : 1, "file_bytes",
              (json_int_t)file_bytes(file->path));
    bench_record_add(run, &record, row, "file of %.1f MB", 1e-6 * file_bytes(file->path));
}

static void measure(bench_run *run, const read_file *file, const tess_matrix *matrix)
{
    const int repeat = run->options->repeat, most = run->options->threads;

    report(run, file, matrix, 0, time_reading(read_bytes, file->path, 1, repeat));
    for (int threads = 1; threads <= most; threads = threads < most && 2 * threads > most ? most : 2 * threads) {
        report(run, file, matrix, threads, time_reading(read_matrix, file->path, threads, repeat));
    }
}

/* One kind of values: text, the same text in gzip, and (for the long values) the cache. */
static void measure_kind(bench_run *run, const char *folder, int short_values, int64_t megabytes)
{
    char path[512];
    const double bytes_per_row = ROW_ENTRIES * (short_values ? 21.0 : 35.0);
    const char *kind = short_values ? "short values" : "17 digits";
    char label[64];
    tess_context *ctx = bench_context(TESS_DEVICE_CPU, run->options->threads);
    tess_matrix *matrix = make_matrix(ctx, (int64_t)(1e6 * (double)megabytes / bytes_per_row), short_values);
    read_file file = {.label = kind, .path = path};

    snprintf(path, sizeof path, "%s/matrix.mtx", folder);
    bench_require(tess_matrix_write(matrix, path, 0), ctx, path);
    file.text_bytes = file_bytes(path);
    measure(run, &file, matrix);
    unlink(path);
    snprintf(path, sizeof path, "%s/matrix.mtx.gz", folder);
    bench_require(tess_matrix_write(matrix, path, 0), ctx, path);
    snprintf(label, sizeof label, "%s, gzip", kind);
    file.label = label;
    measure(run, &file, matrix);
    unlink(path);
    if (!short_values) {
        snprintf(path, sizeof path, "%s/matrix.cache", folder);
        bench_require(tess_matrix_write_cache(matrix, path), ctx, path);
        file = (read_file){"binary cache", path, file_bytes(path)};
        measure(run, &file, matrix);
        unlink(path);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

/* ---- the study ---- */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    read_options *own = state->input;

    switch (key) {
    case 'm': own->megabytes = strtoll(argument, NULL, 10); break;
    case 'd': own->directory = argument; break;
    case ARGP_KEY_END:
        if (own->megabytes < 1) { argp_error(state, "--megabytes: sizes start at 1"); }
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int study_files(int argc, char **argv, const char *parts)
{
    static const struct argp_option list[] = {
        {"megabytes", 'm', "N", 0, "size of the text files (default 100)", 0},
        {"directory", 'd', "DIR", 0, "where to make the files (default TMPDIR, else /tmp)", 0},
        {0}};
    static const struct argp program = {.options = list,
                                        .parser = parse_option,
                                        .doc = "Reading rate of matrix files, by number of threads. --repeat: default "
                                               "5, at most 64. Matrices are not chosen: the files are made."};
    const char *temporary = getenv("TMPDIR");
    read_options own = {.megabytes = 100, .directory = temporary ? temporary : "/tmp"};
    char folder[256];
    bench_options options;
    bench_run run;

    (void)parts;
    bench_options_init(&options);
    options.repeat = 5;
    bench_parse(argc, argv, &program, &options, &own);
    if (options.repeat > MAX_REPEAT) { bench_die("--repeat: at most %d", MAX_REPEAT); }
    if (options.threads == 0) { options.threads = omp_get_max_threads(); }
    options.device = TESS_DEVICE_CPU;
    snprintf(folder, sizeof folder, "%s/tessera-read-XXXXXX", own.directory);
    if (!mkdtemp(folder)) { bench_die("%s: %s", folder, strerror(errno)); }
    bench_begin(&run, &options, "files", false);
    measure_kind(&run, folder, 0, own.megabytes);
    measure_kind(&run, folder, 1, own.megabytes);
    rmdir(folder);
    return bench_end(&run);
}

int main(int argc, char **argv)
{
    static const bench_study studies[] = {
        {"files", NULL, "Matrix Market text, gzip and the binary cache, for one thread up to all", study_files},
    };

    return bench_main(argc, argv, "Reading of matrix files.", studies, (int)(sizeof studies / sizeof *studies));
}
