/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of block rows on the host, in the arithmetic REAL. Included once per arithmetic, so without a guard, with REAL,
 * PAIR and WIDE (vectors of two and of four of them), LOAD and NAMED defined. A row of the matrix has two running sums,
 * of the even and of the odd columns of its blocks; a complex row has those of its even and of its odd entries. WIDE
 * holds neighbouring rows of a block.
 */

TESS_INLINE void NAMED(load)(tess_precision stored, const void *val, int64_t i, WIDE *out)
{
    for (int l = 0; l < 4; l++) {
        (*out)[l] = LOAD(stored, val, i + l);
    }
}

/* Blocks of 2 x 2: all four sums in one vector. */
TESS_INLINE void NAMED(sum_pairs)(bsr_kind kind, const bsr_run *run, const void *x, double *out)
{
    WIDE own = {0};

    for (int64_t k = 0; k < run->count; k++) {
        const int64_t column = column_of(kind, run, k);
        const REAL x0 = LOAD(kind.vectors, x, column), x1 = LOAD(kind.vectors, x, column + 1);
        const WIDE factor = {x0, x0, x1, x1};
        WIDE value;

        prefetch(kind, run, k);
        NAMED(load)(kind.stored, run->val, 4 * k, &value);
        own += value * factor;
    }
    out[0] = (double)(own[0] + own[2]);
    out[1] = (double)(own[1] + own[3]);
}

/* Sums of the rows of a block. */
typedef struct NAMED(column_sums) {
    WIDE first;   /* of rows 0 to 3 */
    REAL rest[2]; /* of rows 4 and 5 */
} NAMED(column_sums);

/* A column of a block, from value `at` on, times an element of x. Of blocks of 2 or 3 rows more values are read. */
TESS_INLINE void NAMED(add_column)(bsr_kind kind, const void *val, int64_t at, REAL factor, NAMED(column_sums) * sums)
{
    WIDE value;

    NAMED(load)(kind.stored, val, at, &value);
    sums->first += value * factor;
    for (int r = 4; r < kind.height; r++) {
        sums->rest[r - 4] += LOAD(kind.stored, val, at + r) * factor;
    }
}

TESS_INLINE void NAMED(sum_blocks)(bsr_kind kind, const bsr_run *run, const void *x, double *out)
{
    const int height = kind.height, width = kind.width;
    NAMED(column_sums) sums[2] = {{{0}, {0}}, {{0}, {0}}}; /* of even and odd columns */

    for (int64_t k = 0; k < run->count; k++) {
        const int64_t column = column_of(kind, run, k), at = k * height * width;
        int c = 0;

        prefetch(kind, run, k);
        for (; c + 1 < width; c += 2) {
            NAMED(add_column)(kind, run->val, at + c * height, LOAD(kind.vectors, x, column + c), &sums[0]);
            NAMED(add_column)(kind, run->val, at + (c + 1) * height, LOAD(kind.vectors, x, column + c + 1), &sums[1]);
        }
        if (c < width) {
            NAMED(add_column)(kind, run->val, at + c * height, LOAD(kind.vectors, x, column + c), &sums[0]);
        }
    }
    for (int r = 0; r < height; r++) {
        out[r] = (double)(r < 4 ? sums[0].first[r] + sums[1].first[r] : sums[0].rest[r - 4] + sums[1].rest[r - 4]);
    }
}

/* re and im of an entry, each times (x_re, x_im). */
TESS_INLINE void NAMED(multiply_complex)(bsr_kind kind, const bsr_run *run, const void *x, int64_t k, PAIR *by_re,
                                         PAIR *by_im)
{
    const REAL re = LOAD(kind.stored, run->val, 2 * k), im = LOAD(kind.stored, run->val, 2 * k + 1);
    const int64_t column = column_of(kind, run, k);
    const PAIR factor = {LOAD(kind.vectors, x, column), LOAD(kind.vectors, x, column + 1)};

    *by_re += re * factor;
    *by_im += im * factor;
}

TESS_INLINE void NAMED(sum_complex)(bsr_kind kind, const bsr_run *run, const void *x, double *out)
{
    PAIR by_re[2] = {{0}, {0}}, by_im[2] = {{0}, {0}}; /* of the even and of the odd entries */
    int64_t k = 0;

    for (; k + 2 <= run->count; k += 2) {
        prefetch(kind, run, k);
        NAMED(multiply_complex)(kind, run, x, k, &by_re[0], &by_im[0]);
        NAMED(multiply_complex)(kind, run, x, k + 1, &by_re[1], &by_im[1]);
    }
    if (k < run->count) { NAMED(multiply_complex)(kind, run, x, k, &by_re[0], &by_im[0]); }
    by_re[0] += by_re[1];
    by_im[0] += by_im[1];
    out[0] = (double)(by_re[0][0] - by_im[0][1]);
    out[1] = (double)(by_re[0][1] + by_im[0][0]);
}

/* `rows` block rows from `begin` on, whose blocks are offset[i] .. offset[i + 1] - 1 of val and column: sums to out,
   `height` each. */
TESS_INLINE void NAMED(sum_rows)(bsr_kind kind, int rows, int64_t begin, const int64_t *offset, const void *val,
                                 const void *column, const void *x, double *out)
{
    for (int i = 0; i < rows; i++) {
        const uintptr_t first = (uintptr_t)offset[i];
        const bsr_run run = {offset[i + 1] - offset[i],
                             kind.narrow ? bsr_narrow_origin(kind.height, kind.width, kind.is_complex, begin + i) : 0,
                             (const void *)((uintptr_t)val + first * block_bytes(kind)),
                             (const void *)((uintptr_t)column + first * column_bytes(kind))};

        if (kind.is_complex) {
            NAMED(sum_complex)(kind, &run, x, out + 2 * i);
        } else if (kind.height == 2 && kind.width == 2) {
            NAMED(sum_pairs)(kind, &run, x, out + 2 * i);
        } else {
            NAMED(sum_blocks)(kind, &run, x, out + kind.height * i);
        }
    }
}
