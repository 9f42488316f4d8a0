/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading rate of matrix files: Matrix Market text with 17-digit and with short values, gzip, and the binary cache, for
 * one thread up to all. Makes its files in a temporary directory. The files are in the page cache: the rate is that of
 * the reader, not of the disk.
 *
 *   bench_read [--megabytes N] [--threads N] [--repeat N] [--json FILE] [--directory DIR]
 */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tessera/tessera.h>

enum { ROW_ENTRIES = 7, MAX_REPEAT = 64 };

typedef struct options {
    int64_t megabytes;
    int threads, repeat;
    const char *json, *directory;
} options;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(tess_status status, const tess_context *ctx, const char *what)
{
    if (status == TESS_SUCCESS) { return; }
    fprintf(stderr, "bench_read: %s: %s: %s\n", what, tess_status_text(status),
            ctx ? tess_context_last_error(ctx)->message : "");
    exit(4);
}

static tess_context *open_context(int threads)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = threads;
    check(tess_context_create(&options, &ctx), NULL, "context");
    return ctx;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);

    if (!memory) {
        fprintf(stderr, "bench_read: out of memory\n");
        exit(4);
    }
    return memory;
}

/* Seven entries a row near the diagonal and far from it, as a three-dimensional stencil has them. */
static tess_matrix *make_matrix(tess_context *ctx, int64_t n, int short_values)
{
    const int64_t distance[ROW_ENTRIES] = {-n / 50, -n / 500, -1, 0, 1, n / 500, n / 50};
    int64_t *row_ptr = allocate((size_t)(n + 1) * sizeof *row_ptr), nnz = 0;
    int32_t *col_ind = allocate((size_t)(n * ROW_ENTRIES) * sizeof *col_ind);
    double *val = allocate((size_t)(n * ROW_ENTRIES) * sizeof *val);
    uint64_t state = 88172645463325252U;
    tess_csr_arrays arrays = {.nrows = n, .ncols = n, .row_ptr = row_ptr, .col_ind = col_ind, .val = val};
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
    arrays.row_ptr_bits = 64;
    arrays.col_ind_bits = 32;
    check(tess_matrix_create_csr(ctx, &arrays, &matrix), ctx, "matrix");
    free(row_ptr);
    free(col_ind);
    free(val);
    return matrix;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median seconds to read the file. */
static double time_reading(const char *path, int threads, int repeat)
{
    double seconds[MAX_REPEAT];
    tess_context *ctx = open_context(threads);

    for (int i = -1; i < repeat; i++) {
        tess_matrix *matrix = NULL;
        double start = seconds_now();

        check(tess_matrix_read(ctx, path, &matrix, NULL), ctx, path);
        if (i >= 0) { seconds[i] = seconds_now() - start; }
        tess_matrix_destroy(matrix);
    }
    tess_context_destroy(ctx);
    qsort(seconds, (size_t)repeat, sizeof *seconds, compare_doubles);
    return seconds[repeat / 2];
}

static double file_megabytes(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 ? (double)facts.st_size / 1e6 : 0.0;
}

/* `text_megabytes` is what the rate counts: for gzip the text inside. */
static void measure(const char *label, const char *path, double text_megabytes, const options *opt, json_t *results)
{
    double one = 0.0;

    for (int threads = 1; threads <= opt->threads;
         threads = threads < opt->threads && 2 * threads > opt->threads ? opt->threads : 2 * threads) {
        double seconds = time_reading(path, threads, opt->repeat);

        one = threads == 1 ? seconds : one;
        printf("%-22s %9.1f %9.1f %7d %9.1f %9.1f %8.2fx\n", label, file_megabytes(path), text_megabytes, threads,
               1e3 * seconds, text_megabytes / seconds, one / seconds);
        json_array_append_new(results, json_pack("{s:s, s:f, s:f, s:i, s:f, s:f, s:f}", "file", label, "megabytes",
                                                 file_megabytes(path), "text_megabytes", text_megabytes, "threads",
                                                 threads, "seconds", seconds, "megabytes_per_second",
                                                 text_megabytes / seconds, "speedup", one / seconds));
    }
}

/* One kind of values: text, the same text in gzip, and (for the long values) the cache. */
static void measure_kind(const char *folder, int short_values, const options *opt, json_t *results)
{
    char path[512];
    double bytes_per_row = ROW_ENTRIES * (short_values ? 21.0 : 35.0), text = 0.0;
    const char *kind = short_values ? "short values" : "17 digits";
    char label[64];
    tess_context *ctx = open_context(opt->threads);
    tess_matrix *matrix = make_matrix(ctx, (int64_t)(1e6 * (double)opt->megabytes / bytes_per_row), short_values);

    snprintf(path, sizeof path, "%s/matrix.mtx", folder);
    check(tess_matrix_write(matrix, path, 0), ctx, path);
    text = file_megabytes(path);
    measure(kind, path, text, opt, results);
    unlink(path);
    snprintf(path, sizeof path, "%s/matrix.mtx.gz", folder);
    check(tess_matrix_write(matrix, path, 0), ctx, path);
    snprintf(label, sizeof label, "%s, gzip", kind);
    measure(label, path, text, opt, results);
    unlink(path);
    if (!short_values) {
        snprintf(path, sizeof path, "%s/matrix.cache", folder);
        check(tess_matrix_write_cache(matrix, path), ctx, path);
        measure("binary cache", path, file_megabytes(path), opt, results);
        unlink(path);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    options *opt = state->input;

    switch (key) {
    case 'm': opt->megabytes = strtoll(argument, NULL, 10); break;
    case 't': opt->threads = (int)strtol(argument, NULL, 10); break;
    case 'r': opt->repeat = (int)strtol(argument, NULL, 10); break;
    case 'j': opt->json = argument; break;
    case 'd': opt->directory = argument; break;
    case ARGP_KEY_END:
        if (opt->megabytes < 1 || opt->threads < 1 || opt->repeat < 1 || opt->repeat > MAX_REPEAT) {
            argp_error(state, "sizes, threads and repetitions start at 1; repetitions end at %d", MAX_REPEAT);
        }
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option list[] = {{"megabytes", 'm', "N", 0, "size of the text files (100)", 0},
                                              {"threads", 't', "N", 0, "most threads (all)", 0},
                                              {"repeat", 'r', "N", 0, "readings per median (5)", 0},
                                              {"json", 'j', "FILE", 0, "write the results as JSON", 0},
                                              {"directory", 'd', "DIR", 0, "where to make the files (TMPDIR)", 0},
                                              {0}};
    const struct argp parser = {list, parse_option, NULL, "Reading rate of matrix files", NULL, NULL, NULL};
    const char *temporary = getenv("TMPDIR");
    options opt = {100, omp_get_max_threads(), 5, NULL, temporary ? temporary : "/tmp"};
    char folder[256];
    json_t *results = json_array();

    argp_parse(&parser, argc, argv, 0, NULL, &opt);
    snprintf(folder, sizeof folder, "%s/tessera-read-XXXXXX", opt.directory);
    if (!mkdtemp(folder)) {
        fprintf(stderr, "bench_read: %s: %s\n", folder, strerror(errno));
        return 3;
    }
    printf("%-22s %9s %9s %7s %9s %9s %9s\n", "file", "MB", "MB text", "threads", "ms", "MB/s", "speed-up");
    measure_kind(folder, 0, &opt, results);
    measure_kind(folder, 1, &opt, results);
    rmdir(folder);
    if (opt.json && json_dump_file(results, opt.json, JSON_INDENT(2)) != 0) {
        fprintf(stderr, "bench_read: cannot write %s\n", opt.json);
        return 3;
    }
    json_decref(results);
    return 0;
}
