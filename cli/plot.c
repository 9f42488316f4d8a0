/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of where a matrix has which precision, after Yang et al., "Mille-feuille: a tile-grained mixed precision
 * single-kernel conjugate gradient solver on GPUs", SC 2024, Fig. 1.
 */
#include "html.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

/* The longer side has at most MAX_PIXELS. Small matrices are drawn with several pixels per entry, to about MIN_PIXELS.
 */
enum { MAX_PIXELS = 1200, MIN_PIXELS = 600 };

/* Palette: paper, then the levels from high to low. These colours can be told apart with all common kinds of colour
   blindness (Okabe and Ito). */
typedef struct plot_colour {
    const char *name;
    png_byte red, green, blue;
} plot_colour;
static const plot_colour palette[1 + TESS_MAX_LEVELS] = {{"white", 0xff, 0xff, 0xff},
                                                         {"red", 0xd5, 0x5e, 0x00},
                                                         {"blue", 0x00, 0x72, 0xb2},
                                                         {"green", 0x00, 0x9e, 0x73},
                                                         {"purple", 0xcc, 0x79, 0xa7}};

/* Pixels of the palette, row by row. */
typedef struct picture {
    int64_t nrows, ncols;
    int width, height; /* of the whole, in pixels */
    int zoom;          /* a cell is zoom x zoom pixels */
    int cells_across, cells_down;
    png_bytep pixel;
} picture;

static int cells_of(int64_t count, int64_t longest)
{
    if (longest <= MAX_PIXELS) { return (int)count; }
    return (int)((count * MAX_PIXELS + longest - 1) / longest);
}

static picture frame(int64_t nrows, int64_t ncols)
{
    int64_t longest = nrows > ncols ? nrows : ncols;
    picture p = {.nrows = nrows, .ncols = ncols};
    p.cells_across = cells_of(ncols, longest);
    p.cells_down = cells_of(nrows, longest);
    p.zoom = longest < MIN_PIXELS && longest > 0 ? (int)(MIN_PIXELS / longest) : 1;
    p.width = p.zoom * p.cells_across;
    p.height = p.zoom * p.cells_down;
    return p;
}

/* Sets the cell to the level's palette entry, unless the cell already has a higher precision (a lower entry). */
static void mark_cell(const picture *p, int64_t row, int64_t col, png_byte entry)
{
    int64_t down = row * p->cells_down / p->nrows, across = col * p->cells_across / p->ncols;
    png_bytep corner = p->pixel + down * p->zoom * p->width + across * p->zoom;
    if (*corner != 0 && *corner <= entry) { return; }
    for (int i = 0; i < p->zoom; i++) {
        memset(corner + (ptrdiff_t)i * p->width, entry, (size_t)p->zoom);
    }
}

static int64_t row_start(const tess_csr_view *a, int64_t row)
{
    return a->row_ptr_bits == 64 ? ((const int64_t *)a->row_ptr)[row] : ((const int32_t *)a->row_ptr)[row];
}

/* Levels, and the grid of blocks if the items are blocks. */
typedef struct item_levels {
    tess_granularity granularity;
    int block_rows, block_cols;
    uint8_t *level;
    int64_t *first; /* of blocks; else NULL */
    int32_t *column;
} item_levels;

static void free_levels(item_levels *g)
{
    free(g->level);
    free(g->first);
    free(g->column);
}

/* Returns an exit code, message printed. */
static int fetch_levels(const tess_matrix *a, const tess_assignment *assignment, const tess_assignment_summary *summary,
                        item_levels *out)
{
    const tess_policy_options *o = &summary->options;
    bool blocks = o->granularity == TESS_GRANULARITY_BLOCK;
    size_t nblock_rows = (size_t)(tess_matrix_csr_view(a).nrows / o->block_rows) + 1;
    *out = (item_levels){.granularity = o->granularity,
                         .block_rows = o->block_rows,
                         .block_cols = o->block_cols,
                         .level = malloc((size_t)summary->items + 1)};
    if (blocks) {
        out->first = malloc((nblock_rows + 1) * sizeof *out->first);
        out->column = malloc(((size_t)summary->items + 1) * sizeof *out->column);
    }
    if (out->level == NULL || (blocks && (out->first == NULL || out->column == NULL))) {
        return cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    }
    tess_status status = tess_assignment_get_levels(assignment, out->level);
    if (status == TESS_SUCCESS && blocks) {
        status = tess_assignment_get_blocks(assignment, out->first, out->column, NULL);
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

static void draw(const picture *p, const tess_csr_view *a, const item_levels *g)
{
    for (int64_t row = 0; row < a->nrows; row++) {
        int64_t end = row_start(a, row + 1), block = g->first == NULL ? 0 : g->first[row / g->block_rows];
        for (int64_t k = row_start(a, row); k < end; k++) {
            uint8_t own = 0;
            if (g->granularity == TESS_GRANULARITY_ROW) { own = g->level[row]; }
            if (g->granularity == TESS_GRANULARITY_ENTRY) { own = g->level[k]; }
            if (g->first != NULL) {
                while (g->column[block] < a->col_ind[k] / g->block_cols) { /* both ascend, and the block exists */
                    block++;
                }
                own = g->level[block];
            }
            if (own < TESS_MAX_LEVELS) { mark_cell(p, row, a->col_ind[k], (png_byte)(1 + own)); }
        }
    }
}

static int write_png(FILE *file, const void *user)
{
    const picture *p = user;
    png_byte colours[3 * (1 + TESS_MAX_LEVELS)];
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)p->width,
                       .height = (png_uint_32)p->height,
                       .format = PNG_FORMAT_RGB_COLORMAP,
                       .colormap_entries = 1 + TESS_MAX_LEVELS};
    for (int i = 0; i <= TESS_MAX_LEVELS; i++) {
        colours[3 * i] = palette[i].red;
        colours[3 * i + 1] = palette[i].green;
        colours[3 * i + 2] = palette[i].blue;
    }
    return png_image_write_to_stdio(&image, file, 0, p->pixel, p->width, colours) == 0;
}

int cli_plot_assignment(const tess_matrix *a, const tess_assignment *assignment, cli_plot *plot)
{
    tess_assignment_summary summary = {.size = sizeof summary};
    tess_csr_view view = tess_matrix_csr_view(a);
    picture p = frame(view.nrows, view.ncols);
    if (p.width == 0 || p.height == 0) {
        cli_error("%s: a matrix of %lld by %lld has nothing to draw", plot->path, (long long)view.nrows,
                  (long long)view.ncols);
        return CLI_INPUT;
    }
    tess_assignment_get_summary(assignment, &summary);
    item_levels levels = {.level = NULL};
    p.pixel = calloc((size_t)p.width, (size_t)p.height);
    int code =
        p.pixel == NULL ? cli_report_failure(NULL, TESS_OUT_OF_MEMORY) : fetch_levels(a, assignment, &summary, &levels);
    if (code == CLI_CONVERGED) {
        draw(&p, &view, &levels);
        plot->width = p.width;
        plot->height = p.height;
        code = cli_write_file(plot->path, write_png, &p);
    }
    free(p.pixel);
    free_levels(&levels);
    return code;
}

void cli_print_plot(const cli_plot *plot, const tess_policy_options *options)
{
    printf("%-17s %s, %d x %s, each the highest precision in it:", "plot", cli_shown(plot->path), plot->width,
           tess_count(plot->height, "pixel").text);
    for (int l = 0; l < options->nlevels; l++) {
        const plot_colour *c = &palette[1 + l];
        printf("%s %s %s (#%02x%02x%02x)", l == 0 ? "" : ",", tess_precision_name(options->level[l].precision), c->name,
               c->red, c->green, c->blue);
    }
    putchar('\n');
}

json_t *cli_plot_json(const cli_plot *plot, const tess_policy_options *options)
{
    json_t *colours = json_object();
    for (int l = 0; l < options->nlevels; l++) {
        char text[8];
        snprintf(text, sizeof text, "#%02x%02x%02x", palette[1 + l].red, palette[1 + l].green, palette[1 + l].blue);
        json_object_set_new(colours, tess_precision_name(options->level[l].precision), json_string(text));
    }
    return json_pack("{so si si so}", "file", cli_json_text(plot->path), "width", plot->width, "height", plot->height,
                     "colours", colours);
}

/* ---- for a page ---- */

/* Levels of the items; without a policy all are at the first level. */
static int find_levels(const tess_matrix *a, const tess_policy_options *policy, item_levels *out,
                       tess_assignment_summary *summary)
{
    *out = (item_levels){.granularity = TESS_GRANULARITY_MATRIX};
    summary->options.nlevels = 0;
    if (policy == NULL || policy->policy == TESS_POLICY_NONE) { return CLI_CONVERGED; }
    tess_assignment *assignment = NULL;
    if (tess_assignment_create(a, policy, &assignment) != TESS_SUCCESS) { return CLI_INPUT; }
    tess_assignment_get_summary(assignment, summary);
    const int code = fetch_levels(a, assignment, summary, out);
    tess_assignment_destroy(assignment);
    return code;
}

/* The pattern on the host: the matrix's own arrays, or copies of those of a GPU. */
typedef struct host_pattern {
    tess_csr_view view;
    int64_t *row_ptr; /* copies; else NULL */
    int32_t *col_ind;
} host_pattern;

static bool open_pattern(const tess_matrix *a, host_pattern *out)
{
    *out = (host_pattern){.view = tess_matrix_csr_view(a)};
    if (tess_context_device(tess_matrix_context(a)) == TESS_DEVICE_CPU) { return true; }
    out->row_ptr = malloc(((size_t)out->view.nrows + 1) * sizeof *out->row_ptr);
    out->col_ind = malloc(((size_t)out->view.nnz + 1) * sizeof *out->col_ind);
    if (out->row_ptr == NULL || out->col_ind == NULL ||
        tess_matrix_get_csr(a, out->row_ptr, out->col_ind, NULL) != TESS_SUCCESS) {
        return false;
    }
    out->view.row_ptr = out->row_ptr;
    out->view.row_ptr_bits = 64;
    out->view.col_ind = out->col_ind;
    return true;
}

static void close_pattern(host_pattern *pattern)
{
    free(pattern->row_ptr);
    free(pattern->col_ind);
}

/* The ground is transparent, so that it suits a dark page too. */
static unsigned char *encode(const picture *p, size_t *count)
{
    png_byte colours[4 * (1 + TESS_MAX_LEVELS)];
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)p->width,
                       .height = (png_uint_32)p->height,
                       .format = PNG_FORMAT_RGBA_COLORMAP,
                       .colormap_entries = 1 + TESS_MAX_LEVELS};
    for (int i = 0; i <= TESS_MAX_LEVELS; i++) {
        const png_byte own[] = {palette[i].red, palette[i].green, palette[i].blue, i == 0 ? 0x00 : 0xff};
        memcpy(colours + 4 * i, own, 4);
    }
    png_alloc_size_t size = 0;
    if (!png_image_write_to_memory(&image, NULL, &size, 0, p->pixel, p->width, colours)) { return NULL; }
    unsigned char *bytes = malloc(size);
    if (bytes != NULL && png_image_write_to_memory(&image, bytes, &size, 0, p->pixel, p->width, colours)) {
        *count = size;
        return bytes;
    }
    free(bytes);
    return NULL;
}

static void write_legend(const tess_policy_options *policy, char *legend, size_t size)
{
    legend[0] = '\0';
    for (int l = 0, used = 0; l < policy->nlevels && used < (int)size; l++) {
        used += snprintf(legend + used, size - (size_t)used, "%s%s %s", l == 0 ? "" : ", ",
                         tess_precision_name(policy->level[l].precision), palette[1 + l].name);
    }
}

unsigned char *cli_plot_in_memory(const tess_matrix *a, const tess_policy_options *policy, size_t *count, char *legend,
                                  size_t size)
{
    legend[0] = '\0';
    const tess_csr_view sizes = tess_matrix_csr_view(a);
    picture p = frame(sizes.nrows, sizes.ncols);
    if (p.width == 0 || p.height == 0) { return NULL; }
    host_pattern pattern;
    item_levels made = {.granularity = TESS_GRANULARITY_MATRIX};
    tess_assignment_summary summary = {.size = sizeof summary};
    unsigned char *bytes = NULL;
    p.pixel = calloc((size_t)p.width, (size_t)p.height);
    const bool here = open_pattern(a, &pattern);
    if (here && p.pixel != NULL && find_levels(a, policy, &made, &summary) == CLI_CONVERGED) {
        draw(&p, &pattern.view, &made);
        bytes = encode(&p, count);
        write_legend(&summary.options, legend, size);
    }
    close_pattern(&pattern);
    free_levels(&made);
    free(p.pixel);
    return bytes;
}
