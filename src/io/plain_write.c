/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers as text: .txt for numpy.loadtxt, .csv for spreadsheets. */
#include <string.h>

#include "base/decimal.h"
#include "io/binary.h"
#include "io/output_file.h"

enum { TEXT_BYTES = 1 << 16 };

typedef struct text_output {
    output_file file;
    char text[TEXT_BYTES];
    size_t used;
} text_output;

static tess_status put_number(text_output *t, double value, char behind)
{
    tess_status status = TESS_SUCCESS;

    if (t->used + TESS_DECIMAL_LENGTH + 1 > TEXT_BYTES) {
        status = output_file_write(&t->file, t->text, t->used);
        t->used = 0;
    }
    t->used += tess_decimal_format(value, t->text + t->used);
    t->text[t->used++] = behind;
    return status;
}

tess_status plain_write_array(tess_context *ctx, const file_array *a, const char *path)
{
    const int parts = a->is_complex ? 2 : 1;
    const size_t length = strlen(path);
    const char between = length >= 4 && strcmp(path + length - 4, ".csv") == 0 ? ',' : ' ';
    text_output *t = NULL;
    tess_status status = tess_host_allocate(ctx, 1, sizeof *t, (void **)&t);

    if (status != TESS_SUCCESS) { return status; }
    t->used = 0;
    status = output_file_open(ctx, path, false, &t->file);
    if (status == TESS_SUCCESS) {
        for (int64_t k = 0; k < a->nrows * a->ncols * parts && status == TESS_SUCCESS; k++) {
            const int64_t row = k / (a->ncols * parts), at = k % (a->ncols * parts), col = at / parts;
            const bool last = at + 1 == a->ncols * parts;

            status = put_number(t, a->val[(row + col * a->nrows) * parts + at % parts], last ? '\n' : between);
        }
        if (status == TESS_SUCCESS) { status = output_file_write(&t->file, t->text, t->used); }
        status = output_file_close(&t->file, status);
    }
    tess_host_release(ctx, t, 1, sizeof *t);
    return status;
}
